//! What was measured of a setting.

use super::space::Levels;

/// What a trial was for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The default by a full search of its load line, before anything is changed.
    Baseline,
    /// A trial of the search.
    #[default]
    Search,
    /// A trial that compares a candidate with the default.
    Confirm,
}

/// The result of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Score {
    /// The load line: requests or users per second that were carried, above 0.
    Line(f64),
    /// The load ended before the service did: it carries at least this.
    AtLeast(f64),
    /// The service failed with this setting: its syntax check, never ready, died, out of memory.
    Failed,
    /// The measurement is void: no result.
    #[default]
    Void,
}

/// What must not get worse, each divided by what is allowed (of errors and price what the default has, of memory also what
/// the machine has to spare): above 1 is worse. `None` where it was not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Guard {
    /// Share of errors below the load line.
    pub errors_ratio: Option<f64>,
    /// Peak memory.
    pub memory_ratio: Option<f64>,
    /// Price.
    pub price_ratio: Option<f64>,
}

/// A trial of a setting.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// The setting.
    pub levels: Levels,
    /// Index of its block; ascending in time over all phases.
    pub block: u32,
    /// Seconds from the begin of the experiment to its begin.
    pub at_s: f64,
    /// What it was for.
    pub phase: Phase,
    /// Its result.
    pub score: Score,
    /// What must not get worse.
    pub guard: Guard,
}
