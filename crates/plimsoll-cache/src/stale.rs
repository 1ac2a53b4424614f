//! Stale responses when the origin fails (RFC 5861, 4; RFC 9111, 4.2.4).

use crate::moment::Moment;
use crate::request::CacheRequest;
use crate::response::Stored;
use crate::reuse::{FreshnessTimes, times};

/// Failure of the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginFailure {
    /// No connection, or one that broke before the response head was complete.
    Unreachable,
    /// No response in time.
    TimedOut,
    /// No server of the pool is available, or its queue is full.
    Full,
    /// A response with this status.
    Status(u16),
}

impl OriginFailure {
    /// The failure that a status means; `None` when the origin is healthy.
    pub fn of_status(status: u16) -> Option<Self> {
        matches!(status, 500 | 502 | 503 | 504).then_some(Self::Status(status))
    }

    /// The status of the failed response, if there was one.
    pub fn status(self) -> Option<u16> {
        match self {
            Self::Status(status) => Some(status),
            _ => None,
        }
    }
}

/// Whether a stored response may replace the failure for this request.
pub fn may_serve(request: &CacheRequest<'_, '_>, stored: &Stored, now: Moment) -> bool {
    if request.authorized && !stored.terms().for_authorized {
        return false;
    }
    let FreshnessTimes { fresh_until, .. } = times(request, stored);
    let window_ms = u64::from(stored.terms().stale_if_error) * 1000;
    !stored.terms().no_cache && now < fresh_until.after(window_ms)
}
