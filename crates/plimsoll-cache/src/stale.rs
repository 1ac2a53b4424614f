//! What may be answered with a stale copy when the origin is ill (RFC 5861, 4; RFC 9111, 4.2.4).

use crate::moment::Moment;
use crate::request::CacheRequest;
use crate::response::Stored;
use crate::reuse::{FreshnessTimes, times};

/// What ails the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginFailure {
    /// No connection, or one that broke before the answer's head was whole.
    Unreachable,
    /// It did not answer in time.
    TimedOut,
    /// No server of the pool may be asked, or its queue is full.
    Full,
    /// It answered so.
    Status(u16),
}

impl OriginFailure {
    /// What an answer says of the origin's health; `None` when it is well.
    pub fn of_status(status: u16) -> Option<Self> {
        matches!(status, 500 | 502 | 503 | 504).then_some(Self::Status(status))
    }

    /// The status that the origin answered with, if it did.
    pub fn status(self) -> Option<u16> {
        match self {
            Self::Status(status) => Some(status),
            _ => None,
        }
    }
}

/// Whether a copy answers this request in place of the origin's failure.
pub fn may_serve(request: &CacheRequest<'_, '_>, stored: &Stored, now: Moment) -> bool {
    if request.authorized && !stored.terms().for_authorized {
        return false;
    }
    let FreshnessTimes { fresh_until, .. } = times(request, stored);
    let window_ms = u64::from(stored.terms().stale_if_error) * 1000;
    !stored.terms().no_cache && now < fresh_until.after(window_ms)
}
