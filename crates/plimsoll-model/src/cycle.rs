//! A measurement in a record of cycles: diagnose, change, measure again.

use serde::{Deserialize, Serialize};

use crate::plan::LoadUnit;

/// Version of the lines of a record; a reader refuses any other.
pub const CYCLE_FORMAT: u32 = 1;

/// A measurement in a record of cycles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CycleEntry {
    /// Version of this line.
    pub format: u32,
    /// When the measurement began, RFC 3339.
    pub at: String,
    /// Name of the plan.
    pub name: String,
    /// Commit of the service that was measured; `None` outside of a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// What was changed since the measurement before, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// The objective; `None` when nothing was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// What was measured.
    pub result: CycleResult,
    /// The limit that was found, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Version of Plimsoll that measured.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub plimsoll: String,
}

/// What a measurement of a cycle found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum CycleResult {
    /// A load line with its 90 % interval: before and after are two measurements.
    Line {
        /// Unit of the loads.
        #[serde(default)]
        unit: LoadUnit,
        /// Lower end.
        low: f64,
        /// The line.
        median: f64,
        /// Upper end.
        high: f64,
        /// Whether fresh trials confirmed it.
        confirmed: bool,
    },
    /// No line, and why.
    NoLine {
        /// The reason in words.
        reason: String,
    },
    /// A comparison: before and after are one measurement.
    Comparison {
        /// The metric that is compared.
        metric: String,
        /// `better`, `worse`, `same` or `undecided`.
        verdict: String,
        /// Value before; `None` when it was not measured.
        before: Option<f64>,
        /// Value after.
        after: Option<f64>,
        /// Interval of the value before, 95 %; `None` where it has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before_interval: Option<(f64, f64)>,
        /// The same of the value after.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after_interval: Option<(f64, f64)>,
        /// After over before, or after minus before for shares.
        estimate: Option<f64>,
        /// Lower end of its 95 % interval.
        low: Option<f64>,
        /// Upper end.
        high: Option<f64>,
        /// The limit before, in words.
        limit_before: Option<String>,
    },
}
