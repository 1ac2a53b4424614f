//! The times of one request.

use crate::clock::Nanoseconds;

/// When things happened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moments {
    pub(crate) began: Nanoseconds,
    /// A server was found.
    pub(crate) admitted: Nanoseconds,
    /// There was a connection to it.
    pub(crate) connected: Nanoseconds,
    /// The head of the answer came.
    pub(crate) first_byte: Nanoseconds,
}
