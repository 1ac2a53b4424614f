//! Input buffer.

/// Bytes that a client has sent and that are not processed yet.
#[derive(Debug, Default)]
pub(crate) struct ReceiveBuffer {
    bytes: Vec<u8>,
}

impl ReceiveBuffer {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Allocated memory.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    #[inline]
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Holds these bytes only.
    #[inline]
    pub(crate) fn set(&mut self, bytes: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
    }

    /// Drops the first bytes, which were processed.
    #[inline]
    pub(crate) fn skip(&mut self, count: usize) {
        self.bytes.drain(..count);
    }

    /// Takes all bytes with their memory.
    #[inline]
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Puts back what [`take`](Self::take) took.
    #[inline]
    pub(crate) fn put_back(&mut self, bytes: Vec<u8>) {
        self.bytes = bytes;
    }

    /// Drops all bytes with their memory.
    pub(crate) fn release(&mut self) {
        self.bytes = Vec::new();
    }
}
