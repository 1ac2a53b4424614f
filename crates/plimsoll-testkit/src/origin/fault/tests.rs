//! Each fault as a plain blocking client sees it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use super::*;

const REQUEST: &[u8] = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
const CLOSING: &[u8] = b"GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

fn exchange(handle: &FaultOrigin, request: &[u8]) -> io::Result<String> {
    let mut stream = TcpStream::connect(handle.address())?;
    stream.write_all(request)?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    Ok(bytes.iter().map(|byte| char::from(*byte)).collect())
}

/// The response to one request with `Connection: close`.
#[track_caller]
fn check(fault: &OriginFault, expected_head: &str, expected_body: impl Fn(&str) -> bool) {
    let handle = start(fault.clone()).unwrap();
    let answer = exchange(&handle, CLOSING).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    assert!(head.contains(expected_head), "{fault:?}: {answer}");
    assert!(expected_body(body), "{fault:?}: {answer}");
    assert_eq!((handle.accepted(), handle.requests()), (1, 1), "{fault:?}");
}

fn whole(body: &str) -> bool {
    body == "x".repeat(BODY_LEN)
}

#[test]
fn answers() {
    check(&OriginFault::None, "HTTP/1.1 200 OK", whole);
    check(&OriginFault::Status(404), "HTTP/1.1 404 Not Found", whole);
    check(
        &OriginFault::Status(500),
        "HTTP/1.1 500 Internal Server Error",
        whole,
    );
    check(
        &OriginFault::Status(204),
        "HTTP/1.1 204 No Content",
        str::is_empty,
    );
    check(&OriginFault::RedirectLoop, "Location: /a", str::is_empty);
    check(
        &OriginFault::RedirectTo("http://other.example/".to_owned()),
        "Location: http://other.example/",
        str::is_empty,
    );
    check(
        &OriginFault::Chunked(600),
        "Transfer-Encoding: chunked",
        |body| {
            body == format!(
                "258\r\n{}\r\n190\r\n{}\r\n0\r\n\r\n",
                "x".repeat(600),
                "x".repeat(400)
            )
        },
    );
    check(&OriginFault::Http10Close, "HTTP/1.0 200 OK", whole);
    check(&OriginFault::ClosesInBody, "Content-Length: 1000", |body| {
        body.len() == BODY_LEN / 2
    });
    check(
        &OriginFault::SlowBody(Duration::from_micros(10)),
        "Content-Length: 1000",
        whole,
    );
    check(&OriginFault::Garbage, "not HTTP", str::is_empty);
}

#[test]
fn coded_bodies_decode_to_the_plain_one() {
    let handle = start(OriginFault::Gzip).unwrap();
    let answer = exchange(&handle, CLOSING).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("Content-Encoding: gzip"), "{head}");
    let bytes: Vec<u8> = body
        .chars()
        .map(|c| u8::try_from(u32::from(c)).unwrap())
        .collect();
    let mut plain = String::new();
    flate2::read::GzDecoder::new(&bytes[..])
        .read_to_string(&mut plain)
        .unwrap();
    assert!(whole(&plain));
    check(&OriginFault::Brotli, "Content-Encoding: br", |body| {
        body.chars().count() == 11
    });
}

#[test]
fn closes_at_once() {
    let handle = start(OriginFault::ClosesAtOnce).unwrap();
    let mut stream = TcpStream::connect(handle.address()).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
}

#[test]
fn resets_after_the_request() {
    let handle = start(OriginFault::Resets).unwrap();
    let error = exchange(&handle, REQUEST).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "{error}");
}

#[test]
fn refuses() {
    let handle = start(OriginFault::Refuses).unwrap();
    let error = TcpStream::connect(handle.address()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused, "{error}");
}

#[test]
fn a_full_backlog_leaves_the_client_waiting() {
    let handle = start(OriginFault::FullBacklog).unwrap();
    let error =
        TcpStream::connect_timeout(&handle.address(), Duration::from_millis(300)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
}

#[test]
fn never_answers_and_still_stops() {
    let handle = start(OriginFault::NeverAnswers).unwrap();
    let mut stream = TcpStream::connect(handle.address()).unwrap();
    stream.write_all(REQUEST).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    let error = stream.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::WouldBlock, "{error}");
    drop(handle);
    assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0);
}

#[test]
fn a_slow_body_does_not_hold_up_the_stop() {
    let handle = start(OriginFault::SlowBody(Duration::from_hours(1))).unwrap();
    let mut stream = TcpStream::connect(handle.address()).unwrap();
    stream.write_all(REQUEST).unwrap();
    stream.read_exact(&mut [0; 20]).unwrap();
    drop(handle);
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(rest.len() < BODY_LEN);
}

#[test]
fn statuses_alternate_over_connections() {
    let handle = start(OriginFault::Alternating(vec![200, 503])).unwrap();
    let heads = [0; 4].map(|_| exchange(&handle, CLOSING).unwrap()[9..12].to_owned());
    assert_eq!(heads, ["200", "503", "200", "503"]);
}

#[test]
fn closes_after_the_given_number_of_answers() {
    let handle = start(OriginFault::ClosesAfter(2)).unwrap();
    let mut stream = TcpStream::connect(handle.address()).unwrap();
    stream.write_all(&REQUEST.repeat(2)).unwrap();
    let mut bytes = String::new();
    stream.read_to_string(&mut bytes).unwrap();
    assert_eq!(bytes.matches("HTTP/1.1 200 OK").count(), 2);
}

#[test]
fn serves_over_a_unix_socket() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fault.sock");
    let _handle = start_unix(OriginFault::Status(404), &path).unwrap();
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.write_all(CLOSING).unwrap();
    let mut bytes = String::new();
    stream.read_to_string(&mut bytes).unwrap();
    assert!(bytes.starts_with("HTTP/1.1 404"), "{bytes}");
}

/// A client that trusts the certificate gets the response; one that requests another name does not.
#[test]
fn tls_with_a_certificate_for_its_name() {
    let handle = start(OriginFault::Tls(vec!["localhost".to_owned()])).unwrap();
    let pem = handle.certificate_pem().unwrap();
    let answer = over_tls(&handle, pem, "localhost").unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    let error = over_tls(&handle, pem, "other.example").unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
}

fn over_tls(handle: &FaultOrigin, pem: &str, name: &str) -> io::Result<String> {
    use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let connection = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = rustls::StreamOwned::new(connection, TcpStream::connect(handle.address())?);
    stream.write_all(CLOSING)?;
    let mut bytes = [0; 64];
    stream.read_exact(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
