//! Where what is found in an answer goes.

use crate::head::Head;

/// Takes what a reader finds in an answer; `()` wants none of it.
pub trait Sink {
    /// The final head, with its bytes from the status line to the empty line.
    fn head(&mut self, head: &Head, bytes: &[u8]);
    /// Bytes of the body without framing, in order. A part that was skipped is missing.
    fn content(&mut self, bytes: &[u8]);
}

impl Sink for () {
    #[inline]
    fn head(&mut self, _head: &Head, _bytes: &[u8]) {}

    #[inline]
    fn content(&mut self, _bytes: &[u8]) {}
}
