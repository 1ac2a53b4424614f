//! A receiver over HTTP that keeps what it is sent.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};

use crate::run::Shared;

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) target: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|header| header.0 == name);
        found.map(|header| header.1.as_str())
    }
}

/// The receiver; its thread ends with the test.
pub(crate) struct HttpReceiver {
    pub(crate) address: SocketAddr,
    received: Shared<Vec<Received>>,
}

impl HttpReceiver {
    /// Answers each request with the status line that `answer` gives, headers included.
    pub(crate) fn start(answer: impl Fn(&Received) -> &'static str + Send + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let received = Shared::<Vec<Received>>::default();
        let theirs = received.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                serve(&stream, &theirs, &answer);
            }
        });
        Self { address, received }
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

fn serve(
    stream: &TcpStream,
    received: &Shared<Vec<Received>>,
    answer: &impl Fn(&Received) -> &'static str,
) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = request(&mut reader) {
        let head = answer(&request);
        received.lock().unwrap().push(request);
        let mut stream = stream;
        let text = format!("HTTP/1.1 {head}\r\nContent-Length: 0\r\n\r\n");
        if stream.write_all(text.as_bytes()).is_err() {
            return;
        }
    }
}

fn request(reader: &mut BufReader<&TcpStream>) -> Option<Received> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    let headers: Vec<(String, String)> = lines[1..]
        .iter()
        .map(|line| line.split_once(':').unwrap())
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let mut request = Received {
        target: lines[0].split(' ').nth(1)?.to_owned(),
        headers,
        body: Vec::new(),
    };
    let len = request.header("content-length")?.parse().unwrap();
    request.body = vec![0; len];
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}

/// The body of `GET url`.
pub(crate) fn get(address: SocketAddr, target: &str, accept: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {target} HTTP/1.0\r\nHost: {address}\r\nAccept: {accept}\r\n\r\n"
    )
    .unwrap();
    let mut text = Vec::new();
    stream.read_to_end(&mut text).unwrap();
    let text = String::from_utf8_lossy(&text).into_owned();
    text.split_once("\r\n\r\n").unwrap().1.to_owned()
}
