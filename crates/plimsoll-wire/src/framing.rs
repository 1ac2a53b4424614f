//! Bodies in both directions: their extent in the bytes, and their content.

use crate::body::BodyState;
use crate::content_meter::ContentMeter;
use crate::error::Http1Error;
use crate::head::{BodyLength, Head};
use crate::sink::Sink;

/// Reads one body, in pieces of any size.
#[derive(Clone, Copy, Debug)]
pub struct BodyReader {
    body: BodyState,
    content: ContentMeter,
}

impl BodyReader {
    /// A body of this length and of at most `len_max` bytes of content.
    pub fn new(length: BodyLength, len_max: u64) -> Self {
        let body = match length {
            BodyLength::Sized(len) => BodyState::Sized(len),
            BodyLength::Chunked => BodyState::chunked(),
            BodyLength::Unspecified => BodyState::UntilClose,
        };
        let content = ContentMeter { len: 0, len_max };
        Self { body, content }
    }

    /// No body.
    pub fn none() -> Self {
        Self::new(BodyLength::Sized(0), 0)
    }

    /// Whether it is complete. A body that lasts as long as its connection never is.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.body.is_complete()
    }

    /// Whether the end of the connection ends it.
    #[inline]
    pub fn ends_with_connection(&self) -> bool {
        matches!(self.body, BodyState::UntilClose)
    }

    /// Whether it has no framing: its bytes are its content.
    #[inline]
    pub fn is_plain(&self) -> bool {
        !matches!(self.body, BodyState::Chunked(_))
    }

    /// Bytes of content received.
    #[inline]
    pub fn content_len(&self) -> u64 {
        self.content.len
    }

    /// Takes what belongs to the body from the start of `input` and returns its length; `content` receives the
    /// decoded bytes.
    ///
    /// # Errors
    /// When the framing breaks the grammar, or the body exceeds its limit.
    #[inline]
    pub fn take(&mut self, input: &[u8], content: impl FnMut(&[u8])) -> Result<usize, Http1Error> {
        self.body
            .take(input, &mut self.content, &mut Pieces(content))
    }
}

impl Default for BodyReader {
    fn default() -> Self {
        Self::none()
    }
}

/// A closure that takes pieces of content.
struct Pieces<F>(F);

impl<F: FnMut(&[u8])> Sink for Pieces<F> {
    #[inline]
    fn head(&mut self, _head: &Head, _bytes: &[u8]) {}

    #[inline]
    fn content(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            (self.0)(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(length: BodyLength, input: &[u8], taken: usize, content: &[u8], complete: bool) {
        for piece in 1..=input.len() {
            let mut reader = BodyReader::new(length, 100);
            let mut got = Vec::new();
            let mut at = 0;
            for chunk in input.chunks(piece) {
                at += reader
                    .take(chunk, |bytes| got.extend_from_slice(bytes))
                    .unwrap();
                if reader.is_complete() {
                    break;
                }
            }
            assert_eq!((at, &*got), (taken, content), "in pieces of {piece}");
            assert_eq!(reader.is_complete(), complete);
            assert_eq!(reader.content_len(), content.len() as u64);
        }
    }

    #[test]
    fn content_is_told_from_framing_however_it_is_split() {
        check(BodyLength::Sized(5), b"helloNEXT", 5, b"hello", true);
        check(
            BodyLength::Chunked,
            b"3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\nT: x\r\n\r\nNEXT",
            30,
            b"hello",
            true,
        );
        check(BodyLength::Unspecified, b"hello", 5, b"hello", false);
    }

    #[test]
    fn a_body_has_a_limit() {
        let mut reader = BodyReader::new(BodyLength::Chunked, 3);
        assert_eq!(
            reader.take(b"4\r\nabcd", |_| ()),
            Err(Http1Error::BodyTooLong)
        );
        assert!(BodyReader::none().is_complete());
    }
}
