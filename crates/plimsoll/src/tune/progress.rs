//! Progress of a search of settings on stderr: a line for each trial, and the time that is left at most.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_analysis::experiment::metrics::LOAD_LINE;
use plimsoll_lab::experiment::ExperimentWatcher;
use plimsoll_lab::experiment::trial::{PlannedTrial, RecordedOutcome, TrialRecord};
use plimsoll_lab::experiment::tuning::TuneStage;
use plimsoll_lab::experiment::tuning::lines::{LOAD_LINE_MAX, LOAD_LINE_MIN};
use plimsoll_model::experiment::Experiment;
use plimsoll_report::number::{seconds, short};

use super::setting_text;
use crate::live_line::print_over;

/// A line for each trial.
pub(super) struct TuneProgress {
    pub(super) experiment: Arc<Experiment>,
    /// Time of all trials together.
    pub(super) within: Duration,
    /// Unit of load lines.
    pub(super) unit: &'static str,
    pub(super) quiet: bool,
}

impl TuneProgress {
    fn outcome(&self, record: &TrialRecord) -> String {
        let metrics = match &record.outcome {
            RecordedOutcome::Failed(reason) => return format!("failed: {reason}"),
            RecordedOutcome::Void(reason) => return format!("void: {reason}"),
            RecordedOutcome::Measured(metrics) => metrics,
        };
        let value = |name: &str| metrics.get(name).map(|line| short(*line));
        let unit = self.unit;
        match (value(LOAD_LINE), value(LOAD_LINE_MIN), value(LOAD_LINE_MAX)) {
            (Some(line), ..) => format!("load line {line} {unit}"),
            (None, Some(least), Some(most)) => format!("load line {least} to {most} {unit}"),
            (None, Some(least), None) => format!("load line above {least} {unit}"),
            (None, None, Some(most)) => format!("load line below {most} {unit}"),
            (None, None, None) => "no load line".to_owned(),
        }
    }
}

impl ExperimentWatcher for TuneProgress {
    fn trial_started(&mut self, trial: &PlannedTrial, _records: &[TrialRecord], _left: &[usize]) {
        if self.quiet {
            return;
        }
        let stage = match TuneStage::of(trial) {
            TuneStage::Baseline => "load line of",
            TuneStage::Search => "search,",
            TuneStage::Confirm => "confirmation,",
            TuneStage::Limit => "load line with",
        };
        let setting = setting_text(&self.experiment, trial.cell);
        print_over(&format!("trial {}, {stage} {setting}", trial.index + 1));
    }

    fn trial_ended(&mut self, records: &[TrialRecord], _left: &[usize]) {
        let Some(record) = records.last().filter(|_| !self.quiet) else {
            return;
        };
        let taken_ms = records.iter().map(TrialRecord::lasted_ms).sum();
        let left = self.within.saturating_sub(Duration::from_millis(taken_ms));
        let text = self.outcome(record);
        print_over(&format!(
            "  {text}; at most {} left",
            seconds(left.as_secs())
        ));
    }
}
