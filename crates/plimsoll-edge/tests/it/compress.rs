//! Compression: the same content for everybody, smaller for clients that accept it, and without delay.

use std::io::{Read as _, Write as _};
use std::sync::Mutex;
use std::sync::mpsc::channel;

use plimsoll_config::edge::{Certificate, Compress, CompressCoding, EdgeConfig};
use rcgen::{CertifiedKey, generate_simple_self_signed};

use crate::programs::{NginxOrigin, curl};
use crate::support::{
    Afloat, Scripted, connect, plain, pool, read_until, send_request, start, status_and_body,
};

fn compressing(mut edge: EdgeConfig) -> EdgeConfig {
    edge.routes[0].compress = Some(Compress {
        // The test machine may be busy.
        cpu_share: 1.0,
        ..Compress::default()
    });
    edge
}

fn page() -> String {
    let lines: Vec<String> = (0..60_000)
        .map(|line| format!("<p>line {line}</p>"))
        .collect();
    lines.join("\n")
}

/// A real nginx with a page, behind an edge that compresses.
struct CompressSite {
    nginx: NginxOrigin,
    page: String,
    plain: Afloat,
    secure: Afloat,
}

impl CompressSite {
    fn start() -> Self {
        let nginx = NginxOrigin::start(
            "location = /own { default_type text/html; gzip on; gzip_min_length 1; gzip_http_version 1.0; \
             gzip_proxied any; try_files /page.html =404; }",
        );
        let page = page();
        let file = |name: &str| nginx.folder.path().join(name);
        std::fs::write(file("page.html"), &page).unwrap();
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        std::fs::write(file("cert"), cert.pem()).unwrap();
        std::fs::write(file("key"), signing_key.serialize_pem()).unwrap();
        let edge = compressing(plain(pool(&[nginx.address])));
        let mut secure = edge.clone();
        secure.listen[0].tls.push(Certificate {
            cert: file("cert"),
            key: file("key"),
        });
        Self {
            plain: start(&edge),
            secure: start(&secure),
            nginx,
            page,
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.plain.address)
    }

    fn secure_url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.secure.address.port())
    }

    /// The head of a response and its raw body.
    fn get(&self, arguments: &[&str]) -> (String, Vec<u8>) {
        let body = self.nginx.folder.path().join("body");
        let mut all = vec!["-k", "-sD", "-", "-o", body.to_str().unwrap()];
        all.extend(arguments);
        let head = curl(&all).to_ascii_lowercase();
        (head, std::fs::read(&body).unwrap_or_default())
    }
}

#[test]
fn curl_gets_the_same_bytes_in_every_coding_and_protocol() {
    let site = CompressSite::start();
    for (protocol, url) in [
        ("--http1.1", site.url("/page.html")),
        ("--http1.0", site.url("/page.html")),
        ("--http1.1", site.secure_url("/page.html")),
        ("--http2", site.secure_url("/page.html")),
    ] {
        for coding in ["gzip", "br", "zstd", "identity"] {
            let header = format!("Accept-Encoding: {coding}");
            let (head, body) = site.get(&[protocol, "-H", &header, &url]);
            let is_coded = coding != "identity" && protocol != "--http1.0";
            let content_encoding = format!("content-encoding: {coding}");
            assert_eq!(
                head.contains(&content_encoding),
                is_coded,
                "{protocol} {head}"
            );
            assert!(head.contains("vary: accept-encoding"), "{protocol} {head}");
            assert_eq!(head.contains("etag: w/"), is_coded, "{head}");
            assert_eq!(head.contains("content-length"), !is_coded, "{head}");
            assert_eq!(head.contains("accept-ranges"), !is_coded, "{head}");
            let is_small = body.len() < site.page.len() / 4;
            assert_eq!(is_small, is_coded, "{} bytes", body.len());
            assert!(unpacked(if is_coded { coding } else { "identity" }, &body) == site.page);
        }
        // Curl decodes with its own library.
        assert!(curl(&["-k", protocol, "--compressed", &url]) == site.page);
        assert_eq!(curl(&["-k", protocol, "-r", "3-7", &url]), site.page[3..8]);
        let head = curl(&["-k", protocol, "-I", "-H", "Accept-Encoding: br", &url]);
        assert_eq!(
            head.to_ascii_lowercase().contains("content-encoding: br"),
            protocol != "--http1.0",
            "{head}"
        );
    }
}

#[test]
fn what_the_origin_compressed_stays_and_tags_are_known_again() {
    let site = CompressSite::start();
    let (head, _) = site.get(&["-H", "Accept-Encoding: gzip, br", &site.url("/own")]);
    assert!(head.contains("content-encoding: gzip"), "{head}");
    assert!(curl(&["--compressed", &site.url("/own")]) == site.page);
    let url = site.url("/page.html");
    let (head, _) = site.get(&["-H", "Accept-Encoding: gzip", &url]);
    let tag = head.lines().find_map(|line| line.strip_prefix("etag: w/"));
    let tag = tag.unwrap();
    let known = format!("If-None-Match: W/{tag}");
    let (head, _) = site.get(&["-H", "Accept-Encoding: gzip", "-H", &known, &url]);
    assert!(head.starts_with("http/1.1 304 "), "{head}");
    assert!(head.contains(&format!("etag: w/{tag}")), "{head}");
    assert!(head.contains("vary: accept-encoding"), "{head}");
}

pub(crate) fn unpacked(coding: &str, packed: &[u8]) -> String {
    let mut page = Vec::new();
    match coding {
        "gzip" => flate2::read::GzDecoder::new(packed).read_to_end(&mut page),
        "br" => brotli::Decompressor::new(packed, 4096).read_to_end(&mut page),
        "zstd" => zstd::stream::read::Decoder::new(packed)
            .unwrap()
            .read_to_end(&mut page),
        _ => Ok(page.write(packed).unwrap()),
    }
    .unwrap();
    String::from_utf8(page).unwrap()
}

#[test]
fn what_trickles_comes_at_once_and_events_stay_plain() {
    let (go, may) = channel::<()>();
    let may = Mutex::new(may);
    let server = Scripted::start(move |mut connection| {
        let Some(head) = connection.head() else {
            return;
        };
        let kind = if head.contains("/events") {
            "text/event-stream"
        } else {
            "text/html"
        };
        connection.send(format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n7\r\nfirst, \r\n"
        ));
        // No more data until the client has the first part.
        may.lock().unwrap().recv().unwrap();
        connection.send("6\r\nsecond\r\n0\r\n\r\n");
    });
    for coding in [
        CompressCoding::Gzip,
        CompressCoding::Brotli,
        CompressCoding::Zstd,
    ] {
        let mut edge = compressing(plain(pool(&[server.address])));
        edge.routes[0].compress.as_mut().unwrap().codings = vec![coding];
        let edge = start(&edge);
        let mut stream = connect(edge.address);
        stream
            .write_all(
                b"GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: *\r\nConnection: close\r\n\r\n",
            )
            .unwrap();
        let head = read_until(&mut stream, "\r\n\r\n");
        let name = head
            .lines()
            .find_map(|line| line.strip_prefix("Content-Encoding: "))
            .unwrap_or_else(|| panic!("{head}"))
            .to_owned();
        let mut packed = read_chunk(&mut stream);
        assert!(
            partly_unpacked(&name, &packed).starts_with("first, "),
            "{name}"
        );
        go.send(()).unwrap();
        loop {
            let chunk = read_chunk(&mut stream);
            if chunk.is_empty() {
                break;
            }
            packed.extend(chunk);
        }
        assert_eq!(unpacked(&name, &packed), "first, second");
    }
    let edge = start(&compressing(plain(pool(&[server.address]))));
    let mut stream = connect(edge.address);
    stream
        .write_all(b"GET /events HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n")
        .unwrap();
    let head = read_until(&mut stream, "\r\n\r\n");
    assert!(
        !head.contains("Content-Encoding") && !head.contains("Vary"),
        "{head}"
    );
    assert_eq!(read_chunk(&mut stream), b"first, ");
    go.send(()).unwrap();
    assert_eq!(read_chunk(&mut stream), b"second");
}

/// Reads one chunk of a body.
fn read_chunk(stream: &mut std::net::TcpStream) -> Vec<u8> {
    let line = read_until(stream, "\r\n");
    let len = usize::from_str_radix(line.trim(), 16).unwrap();
    let mut content = vec![0; len + 2];
    stream.read_exact(&mut content).unwrap();
    content.truncate(len);
    content
}

/// The readable part of an unfinished body.
fn partly_unpacked(coding: &str, packed: &[u8]) -> String {
    let mut page = [0; 100];
    let count = match coding {
        "gzip" => flate2::read::GzDecoder::new(packed).read(&mut page),
        "br" => brotli::Decompressor::new(packed, 4096).read(&mut page),
        _ => zstd::stream::read::Decoder::new(packed)
            .unwrap()
            .read(&mut page),
    };
    String::from_utf8_lossy(&page[..count.unwrap()]).into_owned()
}

#[test]
fn an_answer_that_breaks_off_is_not_ended() {
    let server = Scripted::start(|mut connection| {
        connection.head();
        connection
            .send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5000\r\n\r\nhalf");
    });
    let edge = start(&compressing(plain(pool(&[server.address]))));
    let response = send_request(
        edge.address,
        "GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n",
    );
    let (status, body) = status_and_body(&response);
    assert_eq!(status, 200);
    assert!(!body.ends_with("0\r\n\r\n"), "{response:?}");
}

#[test]
fn without_time_answers_stay_as_they_are() {
    let server = Scripted::always(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 8\r\n\r\n<p>plain",
    );
    let mut edge = compressing(plain(pool(&[server.address])));
    let compress = edge.routes[0].compress.as_mut().unwrap();
    (compress.cpu_share, compress.len_min) = (0.0, 1);
    let edge = start(&edge);
    let response = send_request(
        edge.address,
        "GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n",
    );
    assert_eq!(status_and_body(&response), (200, "<p>plain"));
    assert!(
        response.contains("Vary: Accept-Encoding\r\n") && !response.contains("Content-Encoding")
    );
}
