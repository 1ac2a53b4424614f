//! A trial of an experiment: the assignment, and the record of what came of it.

use std::collections::BTreeMap;

use plimsoll_analysis::experiment::trial::{ExperimentTrial, Role, TrialOutcome};
use plimsoll_model::seed::Seed;
use plimsoll_model::window::Window;
use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::service::ApplyFault;

/// What a trial is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialRole {
    /// The same cell in every block, by which drift is measured.
    Reference,
    /// One of the trials that are compared.
    Cell,
    /// One of the trials by which a setting that was found is confirmed.
    Confirm,
    /// The load line of a cell by a whole search.
    Limit,
}

/// A trial that is to be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTrial {
    /// Number of the trial in the experiment, from 0.
    pub index: u32,
    /// Its block, from 0.
    pub block: u32,
    /// Its position in the block, from 0.
    pub position: u32,
    /// Index of the cell; of the side in a comparison: 0 is the baseline.
    pub cell: usize,
    /// What it is for.
    pub role: TrialRole,
    /// Seed of its load. All trials of a block have the same, so that chance is equal for all that is compared.
    pub seed: Seed,
}

/// How a trial ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedOutcome {
    /// Metrics by name; each is finite.
    Measured(BTreeMap<String, f64>),
    /// The service failed: it died, never became ready, swapped. A result without numbers, with its reason.
    Failed(String),
    /// The measurement is void, with its reason.
    Void(String),
}

impl RecordedOutcome {
    /// Takes away numbers that JSON cannot hold.
    pub(super) fn keep_finite(&mut self) {
        if let Self::Measured(metrics) = self {
            metrics.retain(|_, value| value.is_finite());
        }
    }
}

/// What a service served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialTraffic {
    /// Requests that ended.
    pub requests: u64,
    /// Bytes that it sent.
    pub bytes_out: u64,
}

impl TrialTraffic {
    /// Adds what the windows of a run count.
    pub(super) fn add(&mut self, windows: &[Window]) {
        for window in windows {
            self.requests = self.requests.saturating_add(window.completed());
            self.bytes_out = self.bytes_out.saturating_add(window.bytes_in);
        }
    }
}

/// What came of a trial, as the log of the experiment holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// The trial.
    pub trial: PlannedTrial,
    /// Milliseconds from the begin of the experiment to its begin, by the wall clock.
    pub began_ms: u64,
    /// The same to its end; after everything that was applied is put back.
    pub ended_ms: u64,
    /// How it ended.
    pub outcome: RecordedOutcome,
    /// What the service served in it, warm-up included.
    #[serde(default)]
    pub traffic: TrialTraffic,
    /// Its run files, relative to the folder of the experiment: one for each load, none where nothing was measured.
    pub runs: Vec<String>,
    /// What the reader of the results should know of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl TrialRecord {
    /// The trial for the arithmetic, with the levels of its cell.
    pub fn analysed(&self, levels: &[usize]) -> ExperimentTrial {
        let role = match self.trial.role {
            TrialRole::Reference => Role::Reference,
            TrialRole::Cell | TrialRole::Confirm | TrialRole::Limit => Role::Cell(levels.to_vec()),
        };
        let outcome = match &self.outcome {
            RecordedOutcome::Measured(metrics) => TrialOutcome::Measured(metrics.clone()),
            RecordedOutcome::Failed(_) => TrialOutcome::Failed,
            RecordedOutcome::Void(_) => TrialOutcome::Void,
        };
        ExperimentTrial::new(
            self.trial.block,
            self.began_ms as f64 / 1000.0,
            role,
            outcome,
        )
    }

    /// How long it took.
    pub fn lasted_ms(&self) -> u64 {
        self.ended_ms.saturating_sub(self.began_ms)
    }
}

/// Why a trial has no record. It is repeated when the experiment is resumed.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The user requested a stop during the trial.
    #[error("interrupted")]
    Interrupted,
    /// The instrument failed, which no other trial would survive: no disk space, no thread.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// Something cannot be put back: whatever is measured next would be measured under it.
    #[error(transparent)]
    Apply(#[from] ApplyFault),
}

/// Carries out trials. What the service does is data of the record, not an error.
pub trait Conduct {
    /// Applies the cell, measures, and puts everything back. `records` are those of the trials before it.
    ///
    /// # Errors
    /// When the experiment cannot go on.
    fn trial(
        &mut self,
        trial: &PlannedTrial,
        records: &[TrialRecord],
    ) -> Result<TrialRecord, TrialError>;
}
