//! Reads bodies in the chunked transfer coding of HTTP/1.1.

use crate::content_meter::ContentMeter;
use crate::error::Http1Error;
use crate::sink::Sink;

/// Longest chunk line accepted, extensions included, bytes.
const CHUNK_LINE_MAX: u16 = 4096;

/// Longest trailers accepted, bytes.
const TRAILERS_MAX: u16 = 16 * 1024;

/// What has been read of a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkedDecoder {
    place: ChunkPosition,
    /// Bytes of the current line or of all trailers so far; guards their limits.
    line: u16,
    /// Bytes of the current chunk: the size while it is being read, then what is still to come.
    chunk: u64,
}

/// Where in a chunked body the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChunkPosition {
    /// Before the first digit of a size.
    SizeStart,
    /// Within the digits of a size.
    Size,
    /// Within an extension, up to the carriage return.
    Extension,
    /// At the line feed of a chunk line.
    SizeLineFeed,
    Data,
    /// At the carriage return after the data.
    DataReturn,
    /// At the line feed after the data.
    DataLineFeed,
    /// At the start of a trailer line.
    TrailerStart,
    /// Within a trailer line.
    Trailer,
    /// At the line feed of a trailer line.
    TrailerLineFeed,
    /// At the line feed of the empty line that ends everything.
    LastLineFeed,
    Complete,
}

impl ChunkedDecoder {
    /// At the start of a body.
    pub(crate) fn new() -> Self {
        Self {
            place: ChunkPosition::SizeStart,
            line: 0,
            chunk: 0,
        }
    }

    #[inline]
    pub(crate) fn is_complete(&self) -> bool {
        self.place == ChunkPosition::Complete
    }

    /// Takes what belongs to the body from the start of `input`, and returns its length.
    pub(crate) fn take(
        &mut self,
        input: &[u8],
        content: &mut ContentMeter,
        sink: &mut impl Sink,
    ) -> Result<usize, Http1Error> {
        let mut at = 0;
        while at < input.len() && !self.is_complete() {
            if self.place == ChunkPosition::Data {
                let left = usize::try_from(self.chunk).unwrap_or(usize::MAX);
                let taken = left.min(input.len() - at);
                self.chunk -= taken as u64;
                content.add(&input[at..at + taken], sink)?;
                at += taken;
                if self.chunk == 0 {
                    self.place = ChunkPosition::DataReturn;
                }
            } else {
                self.step(input[at])?;
                at += 1;
            }
        }
        Ok(at)
    }

    /// Takes one byte of framing.
    fn step(&mut self, byte: u8) -> Result<(), Http1Error> {
        self.place = match (self.place, byte) {
            (ChunkPosition::SizeStart | ChunkPosition::Size, byte) if byte.is_ascii_hexdigit() => {
                self.shift_in(byte)?;
                ChunkPosition::Size
            }
            (ChunkPosition::Size | ChunkPosition::Extension, b'\r') => ChunkPosition::SizeLineFeed,
            (
                ChunkPosition::Extension | ChunkPosition::Trailer | ChunkPosition::TrailerStart,
                b'\n',
            ) => {
                return Err(Http1Error::BareLineFeed);
            }
            // Blanks before the semicolon are sent by some old servers (RFC 9112, 7.1.1: BWS).
            (ChunkPosition::Size, b';' | b' ' | b'\t') | (ChunkPosition::Extension, _) => {
                self.lengthen(CHUNK_LINE_MAX, ChunkPosition::Extension)?
            }
            (ChunkPosition::SizeLineFeed, b'\n') => {
                self.line = 0;
                if self.chunk == 0 {
                    ChunkPosition::TrailerStart
                } else {
                    ChunkPosition::Data
                }
            }
            (ChunkPosition::DataReturn, b'\r') => ChunkPosition::DataLineFeed,
            (ChunkPosition::DataLineFeed, b'\n') => {
                self.chunk = 0;
                ChunkPosition::SizeStart
            }
            (ChunkPosition::TrailerStart, b'\r') => ChunkPosition::LastLineFeed,
            (ChunkPosition::Trailer, b'\r') => ChunkPosition::TrailerLineFeed,
            (ChunkPosition::TrailerStart | ChunkPosition::Trailer, _) => {
                self.lengthen(TRAILERS_MAX, ChunkPosition::Trailer)?
            }
            (ChunkPosition::TrailerLineFeed, b'\n') => ChunkPosition::TrailerStart,
            (ChunkPosition::LastLineFeed, b'\n') => ChunkPosition::Complete,
            (ChunkPosition::Size, b'\n') => return Err(Http1Error::BareLineFeed),
            _ => return Err(Http1Error::Chunk),
        };
        Ok(())
    }

    /// Adds a digit to the size.
    fn shift_in(&mut self, digit: u8) -> Result<(), Http1Error> {
        let digit = char::from(digit).to_digit(16).ok_or(Http1Error::Chunk)?;
        if self.chunk >> 60 != 0 {
            return Err(Http1Error::Chunk);
        }
        self.chunk = self.chunk << 4 | u64::from(digit);
        // Leading zeros do not grow the size, and need a limit too.
        self.lengthen(CHUNK_LINE_MAX, ChunkPosition::Size).map(drop)
    }

    fn lengthen(&mut self, limit: u16, next: ChunkPosition) -> Result<ChunkPosition, Http1Error> {
        self.line += 1;
        if self.line > limit {
            Err(Http1Error::ChunkTooLong)
        } else {
            Ok(next)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &str) -> Result<(usize, u64, bool), Http1Error> {
        let mut body = ChunkedDecoder::new();
        let mut content = ContentMeter {
            len: 0,
            len_max: 100,
        };
        let taken = body.take(input.as_bytes(), &mut content, &mut ())?;
        Ok((taken, content.len, body.is_complete()))
    }

    #[test]
    fn chunks_are_counted_to_the_last_byte() {
        assert_eq!(read("5\r\nhello\r\n0\r\n\r\nNEXT"), Ok((15, 5, true)));
        assert_eq!(
            read("00A;name=\"v\"\r\n0123456789\r\n0\r\nA: b\r\nC: d\r\n\r\n"),
            Ok((43, 10, true))
        );
        assert_eq!(read("5\r\nhel"), Ok((6, 3, false)));
    }

    #[test]
    fn broken_framing_is_refused() {
        assert_eq!(read("5\nhello"), Err(Http1Error::BareLineFeed));
        assert_eq!(read("\r\n"), Err(Http1Error::Chunk));
        assert_eq!(read("x\r\n"), Err(Http1Error::Chunk));
        assert_eq!(read("5\r\nhello0\r\n"), Err(Http1Error::Chunk));
        assert_eq!(read("0\r\nA: b\n"), Err(Http1Error::BareLineFeed));
        assert_eq!(read("10000000000000000\r\n"), Err(Http1Error::Chunk));
        assert_eq!(read(&"0".repeat(5000)), Err(Http1Error::ChunkTooLong));
        assert_eq!(
            read(&format!("1;{}", "x".repeat(5000))),
            Err(Http1Error::ChunkTooLong)
        );
        assert_eq!(
            read(&format!("0\r\n{}", "A: b\r\n".repeat(5000))),
            Err(Http1Error::ChunkTooLong)
        );
    }
}
