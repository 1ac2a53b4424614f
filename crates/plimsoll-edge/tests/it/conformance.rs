//! HTTP/2 conformance with h2spec, over TLS and in clear text.

use std::io::Read;
use std::path::PathBuf;
use std::process::Command;

use crate::support::{Afloat, Scripted, before, plain, pool};
use crate::tls::secure;

/// Where `cargo xtask test` puts its build; in the path otherwise.
fn h2spec() -> PathBuf {
    let built = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).with_file_name("tools/h2spec");
    if built.is_file() {
        built
    } else {
        "h2spec".into()
    }
}

/// Responds after the whole request: a response to the head alone may overtake the frame that violates a rule, and the
/// suite would see the response.
fn server() -> Scripted {
    Scripted::start(|mut connection| {
        while let Some(head) = connection.head() {
            if !drained(&mut connection.stream, &head.to_ascii_lowercase()) {
                return;
            }
            connection.send(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello",
            );
        }
    })
}

/// Reads the body that `head`, in lower case, announces; whether all of it came.
fn drained(stream: &mut impl Read, head: &str) -> bool {
    if head.contains("transfer-encoding: chunked") {
        let (mut read, mut byte) = (Vec::new(), [0]);
        while !read.ends_with(b"0\r\n\r\n") {
            if stream.read_exact(&mut byte).is_err() {
                return false;
            }
            read.push(byte[0]);
        }
        return true;
    }
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .map_or(0, |length| length.trim().parse().unwrap());
    let read = std::io::copy(&mut stream.take(length), &mut std::io::sink());
    read.is_ok_and(|read| read == length)
}

fn conforms(edge: &Afloat, more: &[&str]) {
    let port = edge.address.port().to_string();
    let output = Command::new(h2spec())
        .args(["--strict", "--timeout", "20", "--port", &port])
        .args(more)
        .output()
        .expect("h2spec is built: cargo xtask test does so");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let summary = stdout
        .lines()
        .find(|line| line.contains(" tests, ") && line.contains(" passed, "))
        .unwrap_or_else(|| panic!("no summary: {output:?}"));
    assert!(
        output.status.success() && summary.contains(" 0 skipped, 0 failed"),
        "{}",
        stdout
            .split_once("Failures:")
            .map_or(&*stdout, |(_, failures)| failures)
    );
    // A suite that ran no test proves nothing.
    let count: u32 = summary.split(' ').next().unwrap().parse().unwrap();
    assert!(count >= 140, "{summary}");
}

#[test]
fn http2_conforms_over_tls() {
    let server = server();
    let (edge, _folder) = secure(plain(pool(&[server.address])), &["127.0.0.1"]);
    conforms(&edge, &["--tls", "--insecure"]);
}

#[test]
fn http2_conforms_without_encryption() {
    let server = server();
    conforms(&before(server.address), &[]);
}
