//! Frames: four bytes of length, the highest first, then as many bytes. What is longer than agreed is refused by its length,
//! before any room is made for it.

/// Bytes of the length.
const HEAD: usize = 4;

/// A frame that does not end the way it should.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum FrameError {
    /// It is longer than both sides agreed.
    #[error("a message of {length} bytes; valid: at most {longest}")]
    Long {
        /// Its length.
        length: usize,
        /// The longest that is read or sent.
        longest: usize,
    },
}

/// Appends a frame with `payload` to `bytes`.
///
/// # Errors
/// When it is longer than `longest` bytes, or than 4 GiB; nothing is appended then.
pub fn encode(payload: &[u8], longest: usize, bytes: &mut Vec<u8>) -> Result<(), FrameError> {
    let length = u32::try_from(payload.len())
        .ok()
        .filter(|_| payload.len() <= longest)
        .ok_or(FrameError::Long {
            length: payload.len(),
            longest,
        })?;
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(payload);
    Ok(())
}

/// Takes bytes as they arrive, and gives whole frames.
///
/// It holds what was pushed and not yet given: push what one read returned, and take all frames before the next read.
#[derive(Debug)]
pub struct Decoder {
    bytes: Vec<u8>,
    /// Where the first frame that was not given begins.
    start: usize,
    longest: usize,
}

impl Decoder {
    /// Frames of at most `longest` bytes.
    pub fn new(longest: usize) -> Self {
        Self {
            bytes: Vec::new(),
            start: 0,
            longest,
        }
    }

    /// Adds bytes that arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.start);
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole frame, without its length; none where bytes are missing.
    ///
    /// # Errors
    /// When the frame that begins is too long. The stream is of no use then: each further call fails alike.
    pub fn next_frame(&mut self) -> Result<Option<&[u8]>, FrameError> {
        let Some((head, rest)) = self.bytes[self.start..].split_first_chunk::<HEAD>() else {
            return Ok(None);
        };
        let length = usize::try_from(u32::from_be_bytes(*head)).unwrap_or(usize::MAX);
        if length > self.longest {
            return Err(FrameError::Long {
                length,
                longest: self.longest,
            });
        }
        if rest.len() < length {
            return Ok(None);
        }
        let begin = self.start + HEAD;
        self.start = begin + length;
        Ok(Some(&self.bytes[begin..self.start]))
    }

    /// Whether a frame has begun and is not whole.
    pub fn is_inside(&self) -> bool {
        self.start < self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_frame_is_refused_by_its_length_alone() {
        let mut decoder = Decoder::new(10);
        decoder.push(&[0, 0, 0, 11]);
        let error = FrameError::Long {
            length: 11,
            longest: 10,
        };
        assert_eq!(decoder.next_frame(), Err(error.clone()));
        assert_eq!(decoder.next_frame(), Err(error.clone()));
        assert_eq!(encode(&[0; 11], 10, &mut Vec::new()), Err(error));
    }

    #[test]
    fn nothing_is_given_before_it_is_whole() {
        let mut decoder = Decoder::new(10);
        decoder.push(&[0, 0, 0, 2, 7]);
        assert_eq!(decoder.next_frame(), Ok(None));
        assert!(decoder.is_inside());
        decoder.push(&[8]);
        assert_eq!(decoder.next_frame(), Ok(Some(&[7, 8][..])));
        assert!(!decoder.is_inside());
    }

    proptest! {
        #[test]
        fn frames_arrive_as_they_were_sent(
            frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..20),
            step in 1_usize..70,
        ) {
            let mut bytes = Vec::new();
            for frame in &frames {
                encode(frame, 50, &mut bytes).unwrap();
            }
            let mut decoder = Decoder::new(50);
            let mut received = Vec::new();
            for chunk in bytes.chunks(step) {
                decoder.push(chunk);
                while let Some(frame) = decoder.next_frame().unwrap() {
                    received.push(frame.to_vec());
                }
            }
            prop_assert_eq!(received, frames);
            prop_assert!(!decoder.is_inside());
        }

        #[test]
        fn any_bytes_are_frames_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut decoder = Decoder::new(64);
            for chunk in bytes.chunks(7) {
                decoder.push(chunk);
                while let Ok(Some(frame)) = decoder.next_frame() {
                    prop_assert!(frame.len() <= 64);
                }
            }
        }
    }
}
