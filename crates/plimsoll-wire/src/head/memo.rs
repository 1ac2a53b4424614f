//! A head that comes again is not parsed again.

use super::Head;

/// The last head, cached: a server's responses to the same request have byte for byte the same head until
/// its clock ticks, and comparing it costs a twentieth of parsing it.
#[derive(Debug, Default)]
pub struct HeadMemo {
    bytes: Vec<u8>,
    head: Option<Head>,
}

impl HeadMemo {
    /// Longest cached head, bytes.
    const LEN_MAX: usize = 4096;

    /// The head at the start of `input`, with its length, when it is the cached one.
    #[inline]
    pub fn recall(&self, input: &[u8]) -> Option<(usize, Head)> {
        // A cached head ends with the first empty line of its bytes, so equal bytes end there too.
        let head = self.head?;
        input
            .starts_with(&self.bytes)
            .then_some((self.bytes.len(), head))
    }

    /// Caches the result of [`parse`](super::parse) for `bytes`.
    pub fn store(&mut self, bytes: &[u8], head: Head) {
        if bytes.len() <= Self::LEN_MAX {
            self.bytes.clear();
            self.bytes.extend_from_slice(bytes);
            self.head = Some(head);
        }
    }
}
