//! What is due when, and for whom.

/// No further arrival.
pub(crate) const NEVER: u64 = u64::MAX;

/// The user of an arrival that belongs to no one in particular.
pub(crate) const NOBODY: u32 = u32::MAX;

/// A user of a journey who is not here yet.
pub(crate) const NEWCOMER: u32 = u32::MAX - 1;

/// Something is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScheduledArrival {
    /// Moment, ns of run time.
    pub(crate) at: u64,
    /// The user of a closed load or a journey, [`NOBODY`] of an open one, [`NEWCOMER`] for somebody new.
    pub(crate) user: u32,
    /// It became due by the clock: a user's think time ended, or somebody came.
    pub(crate) paced: bool,
}
