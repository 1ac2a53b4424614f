//! An origin that keeps every request it receives, for tests that compare what two programs send.
//!
//! Paths with a meaning: `/status/404` answers with that status, `/redirect/2` redirects to `/redirect/1` and that to
//! `/`, `/cookie` sets the cookie `session=c-1`, `/page` is HTML with a form. Every other path answers 200 with
//! [`ANSWER`]. A request that is not HTTP, or longer than [`BODY_LEN_MAX`], ends its connection.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use plimsoll_model::lock::lock;

/// The body of most answers: JSON with values worth capturing.
pub const ANSWER: &str = r#"{"ok":true,"token":"t-123","id":7,"name":"ada","user":{"id":42,"roles":["admin","author"]},"items":[{"id":1,"name":"one"},{"id":2,"name":"two"}],"data":{"token":"t-456","items":[{"id":"i-1"}]}}"#;

/// The body of `/page`.
const PAGE: &str = r#"<!doctype html><title>A form</title><form action="/form" method="post"><input type="hidden" name="csrf" value="f-789"><a href="/item/31">thing</a></form>"#;

/// Longest body of a request, bytes.
pub const BODY_LEN_MAX: usize = 16 << 20;
/// Longest head of a request, bytes.
const HEAD_LEN_MAX: u64 = 256 << 10;
/// Most headers of a request.
const HEADER_COUNT_MAX: usize = 256;

/// A request as it arrived.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObservedRequest {
    /// As sent.
    pub method: String,
    /// Path and query as sent.
    pub path: String,
    /// Headers by name in lower case; several of one name are joined by `, `.
    pub headers: BTreeMap<String, String>,
    /// The body without its transfer coding.
    pub body: Vec<u8>,
}

impl ObservedRequest {
    /// The body as text.
    ///
    /// # Panics
    /// When it is not UTF-8.
    #[must_use]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("the body is a text")
    }

    /// The value of a header, by its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// The same request with these headers only, and with `BOUNDARY` in place of the boundary of a multipart body: what
    /// two programs have in common that were told to send the same.
    #[must_use]
    pub fn comparable(&self, headers: &[&str]) -> Self {
        let boundary = self
            .header("content-type")
            .and_then(|kind| kind.split_once("boundary="))
            .map(|(_, rest)| rest.split(';').next().unwrap_or(rest).trim_matches('"'));
        let mut same = self.clone();
        same.headers
            .retain(|name, _| headers.contains(&name.as_str()));
        if let Some(boundary) = boundary.filter(|boundary| !boundary.is_empty()) {
            for value in same.headers.values_mut() {
                *value = value.replace(boundary, "BOUNDARY");
            }
            same.body = replaced(&same.body, boundary.as_bytes(), b"BOUNDARY");
        }
        same
    }
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at..].starts_with(from) {
            out.extend_from_slice(to);
            at += from.len();
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    out
}

/// What the threads and the handle share.
#[derive(Debug, Default)]
struct SharedLog {
    stop: AtomicBool,
    observed: Mutex<Vec<ObservedRequest>>,
    open: Mutex<Vec<TcpStream>>,
}

/// A running origin; stops when dropped.
#[derive(Debug)]
pub struct LoggingOrigin {
    address: SocketAddr,
    shared: Arc<SharedLog>,
    thread: Option<JoinHandle<()>>,
}

impl LoggingOrigin {
    /// Starts on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// When no socket or thread is available.
    #[must_use]
    pub fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let shared = Arc::new(SharedLog::default());
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::spawn(move || accept(&listener, &of_thread));
        Self {
            address,
            shared,
            thread: Some(thread),
        }
    }

    /// Its address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests since the last call, sorted by method, path, headers and body.
    #[must_use]
    pub fn take(&self) -> Vec<ObservedRequest> {
        let mut observed = std::mem::take(&mut *lock(&self.shared.observed));
        observed.sort();
        observed
    }
}

impl Drop for LoggingOrigin {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        for stream in lock(&self.shared.open).drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<SharedLog>) {
    for stream in listener.incoming() {
        if shared.stop.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        if let Ok(handle) = stream.try_clone() {
            lock(&shared.open).push(handle);
        }
        let shared = Arc::clone(shared);
        std::thread::spawn(move || {
            // A client that breaks off ends its connection.
            let _ = serve(&stream, &shared);
            let _ = stream.shutdown(Shutdown::Both);
        });
    }
}

/// One request a connection: some clients wait for the end of a connection on which a file went out before they exit.
fn serve(stream: &TcpStream, shared: &SharedLog) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    if let Some(request) = read(&mut reader, stream)? {
        let answer = answer(&request);
        lock(&shared.observed).push(request);
        (&*stream).write_all(&answer)?;
    }
    Ok(())
}

/// The next request; `None` at the end of the connection.
fn read(
    reader: &mut BufReader<&TcpStream>,
    stream: &TcpStream,
) -> io::Result<Option<ObservedRequest>> {
    let unreadable = || io::Error::from(io::ErrorKind::InvalidData);
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let rest = HEAD_LEN_MAX.saturating_sub(head.len() as u64);
        if reader.by_ref().take(rest).read_until(b'\n', &mut head)? == 0 {
            return if head.is_empty() {
                Ok(None)
            } else {
                Err(unreadable())
            };
        }
    }
    let mut headers = [httparse::EMPTY_HEADER; HEADER_COUNT_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    parsed.parse(&head).map_err(|_| unreadable())?;
    let mut request = ObservedRequest {
        method: parsed.method.unwrap_or_default().to_owned(),
        path: parsed.path.unwrap_or_default().to_owned(),
        headers: BTreeMap::new(),
        body: Vec::new(),
    };
    for header in parsed.headers.iter() {
        let value = String::from_utf8_lossy(header.value);
        request
            .headers
            .entry(header.name.to_ascii_lowercase())
            .and_modify(|have| {
                have.push_str(", ");
                have.push_str(&value);
            })
            .or_insert_with(|| value.clone().into_owned());
    }
    if request.header("expect").is_some() {
        (&*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    request.body = body(reader, &request)?;
    Ok(Some(request))
}

fn body(reader: &mut impl io::BufRead, request: &ObservedRequest) -> io::Result<Vec<u8>> {
    if request
        .header("transfer-encoding")
        .is_some_and(|coding| coding.eq_ignore_ascii_case("chunked"))
    {
        return chunked(reader);
    }
    let length: usize = request
        .header("content-length")
        .and_then(|length| length.parse().ok())
        .unwrap_or(0);
    if length > BODY_LEN_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(body)
}

fn chunked(reader: &mut impl io::BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.by_ref().take(1024).read_line(&mut line)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| io::ErrorKind::InvalidData)?;
        let start = body.len();
        if start + size > BODY_LEN_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        body.resize(start + size, 0);
        reader.read_exact(&mut body[start..])?;
        let mut end = String::new();
        reader.by_ref().take(1024).read_line(&mut end)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

fn answer(request: &ObservedRequest) -> Vec<u8> {
    let path = request.path.split('?').next().unwrap_or_default();
    let number = |prefix: &str| {
        path.strip_prefix(prefix)
            .and_then(|rest| rest.parse::<u16>().ok())
    };
    let mut status = 200;
    let mut more = String::new();
    let mut kind = "application/json";
    let mut body = ANSWER;
    if let Some(asked) = number("/status/").filter(|status| (200..600).contains(status)) {
        status = asked;
    } else if let Some(left) = number("/redirect/") {
        status = 302;
        let next = match left {
            0 | 1 => "/".to_owned(),
            left => format!("/redirect/{}", left - 1),
        };
        more = format!("Location: {next}\r\n");
    } else if path == "/cookie" {
        "Set-Cookie: session=c-1; Path=/\r\n".clone_into(&mut more);
    } else if path == "/page" {
        kind = "text/html";
        body = PAGE;
    }
    let has_body = !matches!(status, 204 | 304);
    let length = if has_body {
        format!("Content-Length: {}\r\n", body.len())
    } else {
        String::new()
    };
    let mut answer = format!(
        "HTTP/1.1 {status} Answer\r\nContent-Type: {kind}\r\n{length}X-Request-Id: r-55\r\nConnection: close\r\n{more}\r\n"
    );
    if has_body && request.method != "HEAD" {
        answer.push_str(body);
    }
    answer.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(origin: &LoggingOrigin, request: &str) -> String {
        let mut stream = TcpStream::connect(origin.address()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn requests_are_kept_as_they_arrived() {
        let origin = LoggingOrigin::start();
        let answer = exchange(
            &origin,
            "POST /b?x=%20 HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nx-a: 2\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        );
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let answer = exchange(&origin, "GET /status/404 HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
        let observed = origin.take();
        assert_eq!(observed.len(), 2);
        assert_eq!(
            (observed[0].method.as_str(), observed[0].path.as_str()),
            ("GET", "/status/404")
        );
        assert_eq!(
            (observed[1].path.as_str(), observed[1].text()),
            ("/b?x=%20", "abc")
        );
        assert_eq!(observed[1].header("x-a"), Some("1, 2"));
        assert!(origin.take().is_empty());
    }

    #[test]
    fn boundaries_do_not_count() {
        let request = |boundary: &str| ObservedRequest {
            method: "POST".to_owned(),
            path: "/".to_owned(),
            headers: BTreeMap::from([
                (
                    "content-type".to_owned(),
                    format!("multipart/form-data; boundary={boundary}"),
                ),
                ("user-agent".to_owned(), boundary.to_owned()),
            ]),
            body: format!("--{boundary}\r\n\r\n--{boundary}--").into_bytes(),
        };
        let chosen = ["content-type"];
        assert_eq!(
            request("abc").comparable(&chosen),
            request("----x9").comparable(&chosen)
        );
    }
}
