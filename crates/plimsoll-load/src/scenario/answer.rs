//! A response as captures and expectations read it; costly views are built once, on demand.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::io::Read as _;

use plimsoll_wire::head::{self, ContentCoding};
use scraper::Html;
use serde_json::Value;

use crate::json::json_at;

/// One complete response.
pub(crate) struct ParsedAnswer<'a> {
    pub(crate) status: u16,
    head: &'a [u8],
    body: Cow<'a, [u8]>,
    /// Offset of the JSON in the body; bytes after the first value are ignored there.
    json_at: usize,
    json: OnceCell<Option<Value>>,
    html: OnceCell<Html>,
}

impl<'a> ParsedAnswer<'a> {
    /// `body` is in its content coding; at most `len_max` bytes of it are decoded.
    pub(crate) fn new(
        status: u16,
        head: &'a [u8],
        body: &'a [u8],
        coding: ContentCoding,
        len_max: u64,
    ) -> Self {
        Self {
            status,
            head,
            body: decoded(body, coding, len_max),
            json_at: 0,
            json: OnceCell::new(),
            html: OnceCell::new(),
        }
    }

    /// The same, with JSON from an offset of the body on.
    pub(crate) fn json_from(self, json_at: usize) -> Self {
        Self { json_at, ..self }
    }

    /// The first header of a name.
    pub(crate) fn header(&self, name: &str) -> Option<&'a [u8]> {
        head::headers(self.head)
            .find(|(other, _)| other.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value)
    }

    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Length of the body if it was decoded; it may be cut at the limit.
    pub(crate) fn decoded_len(&self) -> Option<u64> {
        match &self.body {
            Cow::Borrowed(_) => None,
            Cow::Owned(plain) => Some(plain.len() as u64),
        }
    }

    /// The body as JSON, if it is valid.
    pub(crate) fn json(&self) -> Option<&Value> {
        self.json
            .get_or_init(|| json_at(&self.body, self.json_at))
            .as_ref()
    }

    /// The body as HTML.
    pub(crate) fn html(&self) -> &Html {
        self.html
            .get_or_init(|| Html::parse_document(&String::from_utf8_lossy(&self.body)))
    }
}

/// The decoded body; the encoded one when decoding fails, so that captures find nothing.
fn decoded(body: &[u8], coding: ContentCoding, len_max: u64) -> Cow<'_, [u8]> {
    let mut plain = Vec::new();
    let result = match coding {
        ContentCoding::Other => return Cow::Borrowed(body),
        ContentCoding::Gzip => flate2::read::MultiGzDecoder::new(body)
            .take(len_max)
            .read_to_end(&mut plain),
        ContentCoding::Brotli => brotli_decompressor::Decompressor::new(body, 4096)
            .take(len_max)
            .read_to_end(&mut plain),
    };
    if result.is_err() && plain.is_empty() {
        return Cow::Borrowed(body);
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn a_coded_body_is_decoded_within_its_bound() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&[b'x'; 10_000]).unwrap();
        let coded = encoder.finish().unwrap();
        let body = |coding, bytes, max| {
            ParsedAnswer::new(200, b"", bytes, coding, max)
                .body()
                .to_vec()
        };
        assert_eq!(body(ContentCoding::Gzip, &coded, 1 << 20), [b'x'; 10_000]);
        assert_eq!(body(ContentCoding::Gzip, &coded, 100), [b'x'; 100]);
        // 1,000 times `x`, by the reference encoder.
        let brotli = [
            0x1b, 0xe7, 0x03, 0xf8, 0x25, 0xf0, 0xa2, 0xb1, 0x40, 0x20, 0x34,
        ];
        assert_eq!(body(ContentCoding::Brotli, &brotli, 1 << 20), [b'x'; 1000]);
        assert_eq!(body(ContentCoding::Gzip, b"plain", 1 << 20), b"plain");
    }

    #[test]
    fn headers_are_found_whatever_their_case() {
        let head = b"HTTP/1.1 200 OK\r\nX-Token: a\r\nx-token: b\r\n\r\n";
        let answer = ParsedAnswer::new(200, head, b"", ContentCoding::Other, 1);
        assert_eq!(answer.header("x-token"), Some(&b"a"[..]));
        assert_eq!(answer.header("x"), None);
    }
}
