//! Limits of every message, for all readers.

use std::mem::MaybeUninit;

use httparse::Header;

/// Longest head of a response accepted, bytes, unless a reader says otherwise.
pub const HEAD_LEN_MAX: usize = 64 * 1024;

/// Most headers accepted in one head, unless a reader says otherwise.
pub const HEADERS_MAX: usize = 1000;

/// Headers that are read without allocating; nearly every head has fewer.
pub(crate) const HEADERS_USUAL: usize = 128;

/// Most interim (1xx) responses accepted before the final one.
pub const INTERIM_MAX: u8 = 32;

/// Limits of one head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadLimits {
    /// Longest head, bytes.
    pub len: usize,
    /// Most headers.
    pub headers: usize,
}

impl HeadLimits {
    /// Those of readers without limits of their own.
    pub const DEFAULT: Self = Self {
        len: HEAD_LEN_MAX,
        headers: HEADERS_MAX,
    };
}

/// Room for the headers of a head that has more than usual; at most `headers_max`.
pub(crate) fn header_room<'b>(bytes: &[u8], headers_max: usize) -> Vec<MaybeUninit<Header<'b>>> {
    let lines = memchr::memchr_iter(b'\n', bytes).count();
    vec![MaybeUninit::uninit(); lines.min(headers_max)]
}
