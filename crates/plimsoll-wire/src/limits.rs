//! Limits of every response, for all readers.

/// Longest head accepted, bytes.
pub const HEAD_LEN_MAX: usize = 64 * 1024;

/// Most headers accepted in one head.
pub const HEADERS_MAX: usize = 128;

/// Most interim (1xx) responses accepted before the final one.
pub const INTERIM_MAX: u8 = 32;
