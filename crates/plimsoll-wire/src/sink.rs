//! The receiver of a response's parts.

use crate::head::Head;

/// Receives what a reader finds in a response; `()` ignores it.
pub trait Sink {
    /// The final head, with its bytes from the status line to the empty line.
    fn head(&mut self, head: &Head, bytes: &[u8]);
    /// Decoded bytes of the body, in order. A skipped part is missing.
    fn content(&mut self, bytes: &[u8]);
}

impl Sink for () {
    #[inline]
    fn head(&mut self, _head: &Head, _bytes: &[u8]) {}

    #[inline]
    fn content(&mut self, _bytes: &[u8]) {}
}
