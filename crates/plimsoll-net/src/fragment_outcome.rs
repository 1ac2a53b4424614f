//! Outcomes of ESI fragments, as metrics and headers name them.

/// Outcome of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FragmentOutcome {
    /// A fresh stored response.
    Hit,
    /// A stale stored response.
    Stale,
    /// Read along with the fetch of another request.
    Collapsed,
    /// Answered by a server.
    Fetched,
    /// The alternative URL was used.
    Alt,
    /// It failed, and the page permits its omission (`onerror="continue"`).
    LeftOut,
    /// It failed: there is a gap.
    Failed,
    /// Not requested: a loop, too deep, too many, or not a host of this edge.
    Refused,
}

impl FragmentOutcome {
    /// The number of outcomes.
    pub const COUNT: usize = 8;

    /// All of them.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Hit,
        Self::Stale,
        Self::Collapsed,
        Self::Fetched,
        Self::Alt,
        Self::LeftOut,
        Self::Failed,
        Self::Refused,
    ];

    /// The name in headers and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Stale => "stale",
            Self::Collapsed => "collapsed",
            Self::Fetched => "fetched",
            Self::Alt => "alt",
            Self::LeftOut => "left-out",
            Self::Failed => "failed",
            Self::Refused => "refused",
        }
    }

    /// The outcome, from the log reason of the subrequest.
    pub fn of_reason(reason: Option<&str>) -> Self {
        match reason {
            Some("hit") => Self::Hit,
            Some("stale") => Self::Stale,
            Some("collapsed") => Self::Collapsed,
            _ => Self::Fetched,
        }
    }
}
