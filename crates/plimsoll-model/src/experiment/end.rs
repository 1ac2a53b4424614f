//! How an experiment ended.

/// How an experiment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExperimentEnd {
    /// No further block was needed.
    Complete,
    /// The budget is spent.
    Spent,
    /// The user requested a stop; the log can be resumed.
    Interrupted,
}

impl ExperimentEnd {
    /// Its word in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Spent => "budget_spent",
            Self::Interrupted => "interrupted",
        }
    }
}
