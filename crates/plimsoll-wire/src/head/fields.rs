//! The headers that decide framing and reuse, one by one, and the head that they make.

use httparse::Header;

use super::{BodyLength, ContentCoding, Head};
use crate::error::Http1Error;

/// The headers parsed so far.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts of one head, never passed on together"
)]
pub(super) struct ResponseFields {
    sized: Option<u64>,
    chunked: bool,
    /// A transfer coding without effect.
    uncoded: bool,
    close: bool,
    keep_alive: bool,
    coding: ContentCoding,
    sets_cookie: bool,
    location: Option<(u32, u32)>,
}

impl ResponseFields {
    pub(super) fn take(&mut self, header: &Header<'_>, bytes: &[u8]) -> Result<(), Http1Error> {
        let (name, value) = (header.name, header.value);
        // The length rejects nearly every header without comparing letters.
        match name.len() {
            14 if name.eq_ignore_ascii_case("content-length") => self.take_length(value)?,
            17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                let value = value.trim_ascii();
                if self.chunked || self.uncoded {
                    return Err(Http1Error::TransferEncoding);
                }
                self.chunked = value.eq_ignore_ascii_case(b"chunked");
                self.uncoded = !self.chunked && means_nothing(value);
                if !(self.chunked || self.uncoded) {
                    return Err(Http1Error::TransferEncoding);
                }
            }
            10 if name.eq_ignore_ascii_case("connection") => {
                for token in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
                    self.close |= token.eq_ignore_ascii_case(b"close");
                    self.keep_alive |= token.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            10 if name.eq_ignore_ascii_case("set-cookie") => self.sets_cookie = true,
            16 if name.eq_ignore_ascii_case("content-encoding") => {
                self.coding = ContentCoding::named(value.trim_ascii());
            }
            8 if self.location.is_none() && name.eq_ignore_ascii_case("location") => {
                self.location = span(bytes, value);
            }
            _ => {}
        }
        Ok(())
    }

    fn take_length(&mut self, value: &[u8]) -> Result<(), Http1Error> {
        // Some intermediaries fold a repeated header into a list of equal values (RFC 9112, 6.3).
        for item in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            let length = decimal(item).ok_or(Http1Error::ContentLength)?;
            if self.sized.is_some_and(|known| known != length) {
                return Err(Http1Error::ContentLengthsDiffer);
            }
            self.sized = Some(length);
        }
        Ok(())
    }

    pub(super) fn head(self, status: u16, is_1_1: bool) -> Result<Head, Http1Error> {
        let length = match (self.sized, self.chunked) {
            (Some(_), _) if self.chunked || self.uncoded => return Err(Http1Error::TwoFramings),
            (None, _) if (self.chunked || self.uncoded) && !is_1_1 => {
                return Err(Http1Error::TransferEncoding);
            }
            (None, true) => BodyLength::Chunked,
            (Some(length), _) => BodyLength::Sized(length),
            (None, false) => BodyLength::Unspecified,
        };
        Ok(Head {
            status,
            // A server that names an invalid coding may frame the next response as badly.
            keep_alive: !self.close && !self.uncoded && (is_1_1 || self.keep_alive),
            length,
            coding: self.coding,
            sets_cookie: self.sets_cookie,
            location: self.location,
        })
    }
}

/// Whether a transfer coding is unregistered: `identity`, as in RFC 2616, or an unknown word. Such a response ends with
/// the connection (RFC 9112, 6.3), and there is nothing to decode. A misspelt `chunked` is not accepted as one, and a
/// registered coding would reach a client that did not request it.
fn means_nothing(value: &[u8]) -> bool {
    const REGISTERED: [&[u8]; 6] = [
        b"compress",
        b"deflate",
        b"gzip",
        b"trailers",
        b"x-compress",
        b"x-gzip",
    ];
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
    let chunked = b"chunked";
    !value.is_empty()
        && value.iter().all(is_token)
        && !REGISTERED
            .iter()
            .any(|coding| coding.eq_ignore_ascii_case(value))
        && !value
            .windows(chunked.len())
            .any(|window| window.eq_ignore_ascii_case(chunked))
}

pub(crate) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, &digit| {
        let digit = char::from(digit).to_digit(10)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// The range of `value` within `bytes`.
fn span(bytes: &[u8], value: &[u8]) -> Option<(u32, u32)> {
    let start = (value.as_ptr() as usize).checked_sub(bytes.as_ptr() as usize)?;
    let end = start + value.len();
    (end <= bytes.len())
        .then(|| Some((u32::try_from(start).ok()?, u32::try_from(end).ok()?)))
        .flatten()
}
