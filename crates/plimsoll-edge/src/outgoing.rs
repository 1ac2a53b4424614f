//! Bytes on their way out.

/// A body up to this long is copied behind its head: one piece to send costs the kernel less than two, by more than
/// the copy.
pub(crate) const GATHERED_MAX: usize = 4 * 1024;

/// Bytes that are still to be written.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    pub(crate) bytes: Vec<u8>,
    at: usize,
}

impl From<Vec<u8>> for Outgoing {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, at: 0 }
    }
}

impl Outgoing {
    /// Most memory that is kept for the next use.
    const RETAINED_MAX: usize = 128 * 1024;

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    #[inline]
    pub(crate) fn left(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    /// Takes note that so many bytes were written; what was is kept.
    #[inline]
    pub(crate) fn advance(&mut self, count: usize) {
        self.at += count;
    }

    /// Memory it takes.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// Starts again from the first byte, to write the same once more.
    pub(crate) fn rewind(&mut self) {
        self.at = 0;
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.at = 0;
        if self.bytes.capacity() > Self::RETAINED_MAX {
            self.bytes = Vec::new();
        }
    }

    /// Forgets what was written, when all of it was.
    #[inline]
    pub(crate) fn clear_if_written(&mut self) {
        if self.is_empty() {
            self.clear();
        }
    }
}
