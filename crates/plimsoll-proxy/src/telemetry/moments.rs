//! Timestamps of one request.

use plimsoll_net::clock::Nanoseconds;

/// When each phase was reached.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moments {
    pub(crate) began: Nanoseconds,
    /// A server was picked.
    pub(crate) admitted: Nanoseconds,
    /// The connection to it was ready.
    pub(crate) connected: Nanoseconds,
    /// The head of the response arrived.
    pub(crate) first_byte: Nanoseconds,
}
