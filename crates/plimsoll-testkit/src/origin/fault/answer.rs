//! The bytes of answers.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::BODY_LEN;
use crate::origin::response::whole;

/// [`BODY_LEN`] times `x` as brotli (RFC 7932), made with the reference encoder of Node.js 20.
const BROTLI_BODY: [u8; 11] = [
    0x1b, 0xe7, 0x03, 0xf8, 0x25, 0xf0, 0xa2, 0xb1, 0x40, 0x20, 0x34,
];

pub(super) fn body() -> Vec<u8> {
    vec![b'x'; BODY_LEN]
}

pub(super) fn gzip() -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder
        .write_all(&body())
        .expect("a vector takes every byte");
    let coded = encoder.finish().expect("a vector takes every byte");
    whole(200, &["Content-Encoding: gzip"], &coded)
}

pub(super) fn brotli() -> Vec<u8> {
    whole(200, &["Content-Encoding: br"], &BROTLI_BODY)
}

pub(super) fn with_headers(count: usize) -> Vec<u8> {
    let lines: Vec<String> = (0..count)
        .map(|number| format!("X-{number}: value"))
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    whole(200, &lines, &body())
}

pub(super) fn chunked(chunk_size: usize) -> Vec<u8> {
    let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for chunk in body().chunks(chunk_size.max(1)) {
        bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

pub(super) fn until_close() -> Vec<u8> {
    let mut bytes = b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n".to_vec();
    bytes.extend_from_slice(&body());
    bytes
}

/// A redirect to `location`.
pub(super) fn redirect(location: &str) -> Vec<u8> {
    whole(302, &[&format!("Location: {location}")], b"")
}
