//! Output buffer.

/// A body up to this length is copied behind its head: one write costs the kernel less than two, by more than the copy.
pub(crate) const GATHERED_MAX: usize = 4 * 1024;

/// Bytes still to be written.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    bytes: Vec<u8>,
    at: usize,
}

impl From<Vec<u8>> for Outgoing {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, at: 0 }
    }
}

impl Outgoing {
    /// Maximum capacity kept for the next use.
    const RETAINED_MAX: usize = 128 * 1024;

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    #[inline]
    pub(crate) fn left(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    #[inline]
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The buffer, to append to it.
    #[inline]
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Where the next bytes will begin.
    #[inline]
    pub(crate) fn end(&self) -> usize {
        self.bytes.len()
    }

    /// What was appended since [`end`](Self::end) was this.
    pub(crate) fn since(&self, end: usize) -> &[u8] {
        &self.bytes[end..]
    }

    /// Takes back what was appended since [`end`](Self::end) was this.
    pub(crate) fn truncate(&mut self, end: usize) {
        self.bytes.truncate(end);
    }

    /// Takes the memory, to be used again.
    pub(crate) fn take_bytes(&mut self) -> Vec<u8> {
        self.at = 0;
        std::mem::take(&mut self.bytes)
    }

    /// Records that this many bytes were written; they are kept.
    #[inline]
    pub(crate) fn advance(&mut self, count: usize) {
        self.at += count;
    }

    /// Allocated memory.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// Restarts at the first byte, to write the same again.
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

    /// Clears the buffer when all of it was written.
    #[inline]
    pub(crate) fn clear_if_written(&mut self) {
        if self.is_empty() {
            self.clear();
        }
    }
}
