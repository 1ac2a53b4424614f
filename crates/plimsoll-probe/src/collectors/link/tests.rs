//! Connections to misbehaving servers.

use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

use super::*;

/// Time-out for the other side on a loaded machine.
const LONG: Duration = Duration::from_mins(1);

/// A page whose server writes this and then the rest repeatedly, until the client stops reading.
fn page_of(begin: &str, rest: &'static [u8]) -> (ComponentLink, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let begin = begin.to_owned();
    let server = std::thread::spawn(move || {
        let mut stream: TcpStream = listener.accept().unwrap().0;
        let mut head = [0; 1024];
        assert!(stream.read(&mut head).unwrap() > 0);
        let mut written = stream.write_all(begin.as_bytes());
        while written.is_ok() && !rest.is_empty() {
            written = stream.write_all(rest);
        }
    });
    let mut link = ComponentLink::new(ComponentAddress::Page {
        host: address.ip().to_string(),
        port: address.port(),
        path: "/".to_owned(),
    });
    link.begin(LONG);
    (link, server)
}

#[test]
fn pieces_are_joined_when_all_are_there() {
    let pieces = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
        4;x=1\r\nab c\r\nA\r\n0123456789\r\n0\r\n\r\n";
    let (mut link, server) = page_of(pieces, b"");
    assert_eq!(page(&mut link).as_deref(), Ok("ab c0123456789"));
    server.join().unwrap();
    let (mut link, server) = page_of(&pieces[..pieces.len() - 9], b"");
    assert_eq!(page(&mut link), Err(ScrapeError::Closed));
    server.join().unwrap();
}

#[test]
fn answers_without_end_are_cut_off() {
    const CHUNK: &[u8] = &[b'a'; 1 << 16];
    for (begin, expected) in [
        (
            "HTTP/1.0 200 OK\r\nX: ",
            "a response head longer than 64 KiB",
        ),
        ("HTTP/1.0 200 OK\r\n\r\n", "longer than 4 MiB"),
        (
            "HTTP/1.0 200 OK\r\nContent-Length: 999999999999\r\n\r\n",
            "longer than 4 MiB",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n",
            "longer than 4 MiB",
        ),
    ] {
        let (mut link, server) = page_of(begin, CHUNK);
        let error = page(&mut link).unwrap_err().to_string();
        assert!(error.contains(expected), "{begin}: {error}");
        link.close();
        server.join().unwrap();
    }
    // In messages, each read by itself.
    let (mut link, server) = page_of("", CHUNK);
    link.open().unwrap();
    link.send(b"?").unwrap();
    let (mut all, mut message) = (0, Vec::new());
    let ended = loop {
        match link.fill(&mut message) {
            Ok(count) => all += count,
            Err(error) => break error,
        }
        message.clear();
        assert!(all <= RECEIVED_LEN_MAX + CHUNK_LEN, "there is no end");
    };
    assert!(ended.to_string().contains("32 MiB"), "{ended}");
    link.close();
    server.join().unwrap();
}

/// The deadline also holds for a server that responds slowly, byte by byte.
#[test]
fn drops_do_not_renew_the_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut link = ComponentLink::new(ComponentAddress::Tcp {
        host: "127.0.0.1".to_owned(),
        port,
    });
    link.begin(LONG);
    link.open().unwrap();
    let (mut server, _) = listener.accept().unwrap();
    link.begin(Duration::from_millis(100));
    let mut answer = Vec::new();
    let late = loop {
        // Fails when the client has stopped reading.
        let _ = server.write(b"a");
        match link.fill(&mut answer) {
            Ok(_) => answer.clear(),
            Err(error) => break ScrapeError::from(error),
        }
    };
    assert_eq!(late, ScrapeError::Late);
}

#[test]
fn no_redirect_is_followed_and_nothing_is_unpacked() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    let begin = format!(
        "HTTP/1.1 302 Found\r\nLocation: http://{}/\r\nContent-Length: 0\r\n\r\n",
        elsewhere.local_addr().unwrap()
    );
    let (mut link, server) = page_of(&begin, b"");
    let error = page(&mut link).unwrap_err().to_string();
    assert!(error.contains("302"), "{error}");
    server.join().unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let came = elsewhere.accept().unwrap_err();
    assert_eq!(came.kind(), ErrorKind::WouldBlock);
    let packed = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd";
    let (mut link, server) = page_of(packed, b"");
    assert_eq!(page(&mut link).as_deref(), Ok("abcd"));
    server.join().unwrap();
}
