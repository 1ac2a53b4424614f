//! The head of a response from the cache.

use plimsoll_cache::{CacheStatus, Moment, Shape, Stored};

use super::head::{ConnectionHeader, HeadWriter};

/// What a request makes of a stored response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredHead<'a> {
    pub(crate) shape: Shape,
    /// Length of the whole stored body, if known.
    pub(crate) body_len: Option<u64>,
    /// The body is sent in chunks, because its length is not known.
    pub(crate) in_chunks: bool,
    pub(crate) now: Moment,
    pub(crate) status: CacheStatus,
    /// A cookie that admits the client past the waiting room.
    pub(crate) pass: Option<&'a str>,
    pub(crate) connection: ConnectionHeader,
}

/// Writes the head of a response made from a stored one.
pub(crate) fn write(out: &mut Vec<u8>, stored: &Stored, made: &StoredHead<'_>) {
    let mut head = HeadWriter::stored(out, stored, made.shape, made.body_len, made.now);
    head.cache_status(&made.status);
    if let Some(cookie) = made.pass {
        head.cookie(cookie);
    }
    if made.in_chunks {
        head.chunked();
    }
    head.connection(made.connection);
    head.end();
}
