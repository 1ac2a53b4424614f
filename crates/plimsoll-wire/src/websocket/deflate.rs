//! Compressed messages (RFC 7692): negotiation, compression and decompression.
//!
//! The window always has 15 bits. A server therefore declines offers that require a smaller server window, and a client
//! does not offer to limit its own; it still reads messages with a smaller window.

mod agreement;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::error::WebSocketError;

pub use agreement::{Agreement, Offer, agree};

/// The end of every flushed message, which is not sent (RFC 7692, 7.2.1).
const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];

/// Most final blocks in a message. Senders use one or none; each resets the
/// coder, which costs thousands of times more than two bytes on the wire.
const LAST_BLOCKS_MAX: u32 = 16;

/// An empty message (RFC 7692, 7.2.3.6).
const EMPTY: [u8; 1] = [0];

/// Compresses messages. About 300 KiB; one serves many connections without context takeover.
#[derive(Debug)]
pub struct Deflater {
    coder: Compress,
    keeps_window: bool,
}

impl Deflater {
    /// With a level from 1 to 9, with or without context takeover.
    pub fn new(level: u32, keeps_window: bool) -> Self {
        Self {
            coder: Compress::new(Compression::new(level.clamp(1, 9)), false),
            keeps_window,
        }
    }

    /// Appends the compressed `payload` to `out`.
    pub fn deflate(&mut self, payload: &[u8], out: &mut Vec<u8>) {
        if payload.is_empty() {
            out.extend_from_slice(&EMPTY);
            return;
        }
        let read = self.coder.total_in();
        loop {
            let taken = usize::try_from(self.coder.total_in() - read).unwrap_or(usize::MAX);
            out.reserve(64 + (payload.len() - taken) / 2);
            self.coder
                .compress_vec(&payload[taken..], out, FlushCompress::Sync)
                .expect("a stream that is never finished can always go on");
            // The flush is complete when room is left.
            if out.len() < out.capacity() {
                break;
            }
        }
        debug_assert!(out.ends_with(&TAIL));
        out.truncate(out.len() - TAIL.len());
        if !self.keeps_window {
            self.coder.reset();
        }
    }
}

/// Decompresses messages. About 43 KiB; one serves many connections without context takeover.
#[derive(Debug)]
pub struct Inflater {
    coder: Decompress,
    keeps_window: bool,
}

impl Inflater {
    /// With or without context takeover.
    pub fn new(keeps_window: bool) -> Self {
        Self {
            coder: Decompress::new(false),
            keeps_window,
        }
    }

    /// Replaces the content of `out` by the message. At most `len_max` bytes are produced, however large the message
    /// is.
    pub(super) fn inflate(
        &mut self,
        compressed: &[u8],
        len_max: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), WebSocketError> {
        out.clear();
        let mut last_blocks = 0;
        let result = self
            .take(compressed, len_max, out, &mut last_blocks)
            .and_then(|()| self.take(&TAIL, len_max, out, &mut last_blocks));
        if !self.keeps_window {
            self.coder.reset(false);
        }
        result
    }

    fn take(
        &mut self,
        mut input: &[u8],
        len_max: usize,
        out: &mut Vec<u8>,
        last_blocks: &mut u32,
    ) -> Result<(), WebSocketError> {
        loop {
            // One more than allowed, to detect the excess.
            let room = (len_max - out.len()).saturating_add(1);
            out.reserve(room.min((2 * input.len()).max(256)));
            let read = self.coder.total_in();
            let before = out.len();
            let status = self
                .coder
                .decompress_vec(input, out, FlushDecompress::Sync)
                .map_err(|_| WebSocketError::Deflate)?;
            if out.len() > len_max {
                return Err(WebSocketError::TooLong(len_max));
            }
            let taken = usize::try_from(self.coder.total_in() - read).unwrap_or(usize::MAX);
            input = &input[taken..];
            if status == Status::StreamEnd {
                // A block may be final (RFC 7692, 7.2.3.5): the next one starts a new stream.
                *last_blocks += 1;
                if *last_blocks > LAST_BLOCKS_MAX {
                    return Err(WebSocketError::Deflate);
                }
                self.coder.reset(false);
            } else if input.is_empty() && out.len() < out.capacity() {
                return Ok(());
            } else if taken == 0 && out.len() == before && out.len() < out.capacity() {
                return Err(WebSocketError::Deflate);
            }
            if input.is_empty() && status == Status::StreamEnd {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LEN_MAX: usize = 100_000;

    fn inflated(inflater: &mut Inflater, compressed: &[u8]) -> Result<Vec<u8>, WebSocketError> {
        let mut out = Vec::new();
        inflater.inflate(compressed, LEN_MAX, &mut out)?;
        Ok(out)
    }

    #[test]
    fn the_examples_of_the_standard_are_read() {
        // RFC 7692, 7.2.3.1 to 7.2.3.6.
        for compressed in [
            &b"\xf2\x48\xcd\xc9\xc9\x07\x00"[..],
            b"\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00",
            b"\xf3\x48\xcd\xc9\xc9\x07\x00\x00",
            b"\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00",
        ] {
            let mut inflater = Inflater::new(false);
            for _ in 0..2 {
                assert_eq!(inflated(&mut inflater, compressed).unwrap(), b"Hello");
            }
        }
        let mut inflater = Inflater::new(true);
        assert_eq!(
            inflated(&mut inflater, b"\xf2\x48\xcd\xc9\xc9\x07\x00").unwrap(),
            b"Hello"
        );
        assert_eq!(
            inflated(&mut inflater, b"\xf2\x00\x11\x00\x00").unwrap(),
            b"Hello"
        );
        assert_eq!(inflated(&mut inflater, b"\x00").unwrap(), b"");
    }

    #[test]
    fn the_example_of_the_standard_is_written() {
        let mut out = Vec::new();
        let mut deflater = Deflater::new(6, false);
        for _ in 0..2 {
            out.clear();
            deflater.deflate(b"Hello", &mut out);
            assert_eq!(out, b"\xf2\x48\xcd\xc9\xc9\x07\x00");
        }
        out.clear();
        deflater.deflate(b"", &mut out);
        assert_eq!(out, b"\x00");
    }

    #[test]
    fn a_message_begins_anew_so_often_and_no_more() {
        const LAST: &[u8] = b"\x03\x00";
        let mut inflater = Inflater::new(false);
        assert_eq!(inflated(&mut inflater, &LAST.repeat(16)).unwrap(), b"");
        let many = inflated(&mut inflater, &LAST.repeat(17));
        assert_eq!(many, Err(WebSocketError::Deflate));
    }

    #[test]
    fn a_bomb_is_stopped_at_the_limit() {
        let mut bomb = Vec::new();
        Deflater::new(9, false).deflate(&vec![0; 100 * LEN_MAX], &mut bomb);
        assert!(bomb.len() < LEN_MAX / 5, "{}", bomb.len());
        let mut out = Vec::new();
        let mut inflater = Inflater::new(false);
        assert_eq!(
            inflater.inflate(&bomb, LEN_MAX, &mut out),
            Err(WebSocketError::TooLong(LEN_MAX))
        );
        assert!(out.capacity() <= 4 * LEN_MAX, "{}", out.capacity());
        // A message of exactly the limit passes.
        let mut fits = Vec::new();
        Deflater::new(9, false).deflate(&vec![0; LEN_MAX], &mut fits);
        assert_eq!(
            inflated(&mut Inflater::new(false), &fits).unwrap().len(),
            LEN_MAX
        );
    }

    #[test]
    fn rubbish_is_refused() {
        // A block of the reserved type.
        let mut inflater = Inflater::new(true);
        assert_eq!(
            inflated(&mut inflater, b"\xff\xff\xff"),
            Err(WebSocketError::Deflate)
        );
    }

    #[test]
    fn nobody_reads_what_was_anothers() {
        // One inflater serves many connections. The second message refers to data before its own start.
        let mut inflater = Inflater::new(false);
        let hello = b"\xf2\x48\xcd\xc9\xc9\x07\x00";
        assert_eq!(inflated(&mut inflater, hello).unwrap(), b"Hello");
        assert_eq!(
            inflated(&mut inflater, b"\xf2\x00\x11\x00\x00").unwrap(),
            b"H\0\0\0\0"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn what_is_compressed_is_inflated(
            messages in prop::collection::vec(
                (prop::collection::vec(0_u8..4, 0..300), 1_usize..200), 1..6),
            keeps in any::<bool>(),
            level in 1_u32..10,
        ) {
            let mut deflater = Deflater::new(level, keeps);
            let mut inflater = Inflater::new(keeps);
            for (bytes, times) in messages {
                let message = bytes.repeat(times);
                let mut compressed = Vec::new();
                deflater.deflate(&message, &mut compressed);
                prop_assert_eq!(inflated(&mut inflater, &compressed), Ok(message));
            }
        }

        #[test]
        fn arbitrary_bytes_are_read_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let mut out = Vec::new();
            let result = Inflater::new(true).inflate(&bytes, 1000, &mut out);
            prop_assert!(result.is_err() || out.len() <= 1000);
        }
    }
}
