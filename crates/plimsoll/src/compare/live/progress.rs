//! Progress of a comparison on stderr: a line for each trial, with the time that is left at most.

use std::time::Duration;

use plimsoll_analysis::experiment::comparison::blocks::TRIALS_PER_BLOCK;
use plimsoll_analysis::experiment::metrics::{LOAD_LINE, P50, P95};
use plimsoll_lab::experiment::ExperimentWatcher;
use plimsoll_lab::experiment::comparison_blocks::ComparisonBlocks;
use plimsoll_lab::experiment::trial::{PlannedTrial, RecordedOutcome, TrialRecord};
use plimsoll_report::number::{seconds, short};

use crate::screen::eprint;

/// A line for each trial.
pub(super) struct BlockProgress<'p> {
    names: &'p [String; 2],
    blocks: ComparisonBlocks,
    quiet: bool,
    /// Reasons that were shown.
    shown: Vec<String>,
}

impl<'p> BlockProgress<'p> {
    pub(super) fn new(names: &'p [String; 2], blocks: ComparisonBlocks, quiet: bool) -> Self {
        Self {
            names,
            blocks,
            quiet,
            shown: Vec::new(),
        }
    }

    /// A reason in full when it is new.
    fn reason(&mut self, word: &str, reason: &str) -> String {
        if self.shown.iter().any(|shown| shown == reason) {
            return format!("{word} for the same reason");
        }
        self.shown.push(reason.to_owned());
        format!("{word}: {reason}")
    }

    fn outcome(&mut self, record: &TrialRecord) -> String {
        match &record.outcome {
            RecordedOutcome::Failed(reason) => self.reason("failed", reason),
            RecordedOutcome::Void(reason) => self.reason("void", reason),
            RecordedOutcome::Measured(metrics) => {
                let value = |name: &str| metrics.get(name).copied().map(short);
                match (value(LOAD_LINE), value(P50), value(P95)) {
                    (Some(line), ..) => format!("line {line} req/s"),
                    (None, Some(p50), Some(p95)) => format!("p50 {p50} ms, p95 {p95} ms"),
                    _ => "measured".to_owned(),
                }
            }
        }
    }
}

impl ExperimentWatcher for BlockProgress<'_> {
    fn trial_ended(&mut self, records: &[TrialRecord], left: &[usize]) {
        let Some(record) = records.last().filter(|_| !self.quiet) else {
            return;
        };
        let PlannedTrial {
            block,
            position,
            cell,
            ..
        } = record.trial;
        let outcome = self.outcome(record);
        let most = self.blocks.blocks_that_fit(records).unwrap_or(1);
        let left = time_left(records, left.len());
        eprint(&format!(
            "block {} of at most {}, trial {} of {TRIALS_PER_BLOCK}, {}: {outcome}; at most {} left",
            block + 1,
            most.max(block + 1),
            position + 1,
            self.names[cell.min(1)],
            seconds(left.as_secs())
        ));
    }
}

/// The time of so many trials, if each takes as long as those so far.
fn time_left(records: &[TrialRecord], left: usize) -> Duration {
    let taken: u64 = records.iter().map(TrialRecord::lasted_ms).sum();
    let each = taken / records.len().max(1) as u64;
    Duration::from_millis(each.saturating_mul(left as u64))
}
