//! How much content a body has, and how much it may have.

use crate::error::Http1Error;
use crate::sink::Sink;

/// Decoded bytes, and their limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContentMeter {
    pub(crate) len: u64,
    pub(crate) len_max: u64,
}

impl ContentMeter {
    #[inline]
    pub(crate) fn add(&mut self, bytes: &[u8], sink: &mut impl Sink) -> Result<(), Http1Error> {
        self.len = self.len.saturating_add(bytes.len() as u64);
        if self.len > self.len_max {
            return Err(Http1Error::BodyTooLong);
        }
        sink.content(bytes);
        Ok(())
    }
}
