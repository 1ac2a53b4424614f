//! A run as one line of a history: its metrics, and what it must share with another run to be compared with it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::verdict::Verdict;

/// Version of the lines of a history; a reader refuses any other.
pub const HISTORY_FORMAT: u32 = 1;

/// A run in a history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// Version of this line.
    pub format: u32,
    /// When the run began, RFC 3339.
    pub at: String,
    /// The command: `run`, `limit` or `compare`.
    pub command: String,
    /// Name of the plan.
    pub name: String,
    /// Commit of the service that was measured; `None` outside of a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Digest of the plan without what may differ between runs that are compared.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub plan: String,
    /// Class of the machine that sent the load.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub machine: String,
    /// Judgement of the run; `None` when it was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Metrics by name; empty when the measurement is void.
    #[serde(default)]
    pub metrics: BTreeMap<String, f64>,
    /// Version of Plimsoll that measured.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub plimsoll: String,
}

/// What two entries share that may be compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SeriesKey {
    /// The command.
    pub command: String,
    /// Name of the plan.
    pub name: String,
    /// Digest of the plan.
    pub plan: String,
    /// Class of the machine.
    pub machine: String,
}

impl HistoryEntry {
    /// The series that it belongs to.
    pub fn key(&self) -> SeriesKey {
        SeriesKey {
            command: self.command.clone(),
            name: self.name.clone(),
            plan: self.plan.clone(),
            machine: self.machine.clone(),
        }
    }

    /// Whether its numbers may be compared with others.
    pub fn is_valid(&self) -> bool {
        let is_whole = !matches!(
            self.verdict,
            Some(Verdict::Void | Verdict::Interrupted | Verdict::Unreachable)
        );
        is_whole && !self.metrics.is_empty()
    }
}
