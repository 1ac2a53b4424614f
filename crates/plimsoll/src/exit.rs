//! Exit codes: one documented list.

use plimsoll_model::verdict::Verdict;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Objective met, or nothing to judge.
    Met = 0,
    /// A fault of this program.
    Internal = 1,
    /// A fault in what was typed, or in a file.
    Usage = 2,
    /// Objective missed.
    Missed = 3,
    /// Too little evidence either way.
    Undecided = 4,
    /// Nothing ever connected.
    Unreachable = 5,
    /// The measurement is not valid.
    Void = 6,
    /// Stopped by the user; what was measured is kept.
    Interrupted = 130,
}

impl From<Verdict> for Exit {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Met => Self::Met,
            Verdict::Missed => Self::Missed,
            Verdict::Undecided => Self::Undecided,
            Verdict::Unreachable => Self::Unreachable,
            Verdict::Void => Self::Void,
            Verdict::Interrupted => Self::Interrupted,
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
