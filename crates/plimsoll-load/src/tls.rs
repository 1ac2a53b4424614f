//! TLS by rustls, without I/O of its own.

/// One connection's TLS state.
#[derive(Debug)]
pub(crate) struct Session;
