//! Exit codes: one documented list.

use plimsoll_model::verdict::Verdict;

/// Exit code of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Objective met, or nothing to judge.
    Met = 0,
    /// Internal error.
    Internal = 1,
    /// Invalid arguments or files.
    Usage = 2,
    /// Objective missed.
    Missed = 3,
    /// Too little evidence either way.
    Undecided = 4,
    /// Nothing ever connected.
    Unreachable = 5,
    /// The measurement is not valid.
    Void = 6,
    /// Stopped by the user; results so far are kept.
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
