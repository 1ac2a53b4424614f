//! An arrival: when a request is due, and for which user.

/// No further arrival.
pub(crate) const NEVER: u64 = u64::MAX;

/// The user of an arrival that belongs to no particular user.
pub(crate) const NOBODY: u32 = u32::MAX;

/// A user of a journey who has not arrived yet.
pub(crate) const NEWCOMER: u32 = u32::MAX - 1;

/// An arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScheduledArrival {
    /// Moment, ns of run time.
    pub(crate) at: u64,
    /// The user of a closed load or a journey, [`NOBODY`] of an open one, [`NEWCOMER`] for a new user.
    pub(crate) user: u32,
    /// Due by the clock: a think time ended, or a new user arrived.
    pub(crate) paced: bool,
}
