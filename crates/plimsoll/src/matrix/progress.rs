//! Progress of a matrix on stderr: a line for each trial, and the live line of its load.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_lab::experiment::ExperimentWatcher;
use plimsoll_lab::experiment::forecast::{CellPrices, ExperimentForecast};
use plimsoll_lab::experiment::trial::{PlannedTrial, RecordedOutcome, TrialRecord, TrialRole};
use plimsoll_model::experiment::Experiment;
use plimsoll_report::matrix::{BlockForecastObject, block_forecast};
use plimsoll_report::number;

use crate::live_line::print_over;

/// A line for each trial, with the time that is left.
pub(super) struct MatrixProgress {
    pub(super) experiment: Arc<Experiment>,
    pub(super) estimated_ms: Vec<u64>,
    /// Prices of the cells.
    pub(super) prices: Option<CellPrices>,
    /// Time of all trials together.
    pub(super) budget: Option<Duration>,
    /// Trials that the log had at the start.
    pub(super) records_before: usize,
    /// Metrics of which the first that a trial has is shown.
    pub(super) metrics: [&'static str; 3],
    pub(super) quiet: bool,
}

impl MatrixProgress {
    fn cell_text(&self, trial: &PlannedTrial) -> String {
        let cell = self.experiment.cell(trial.cell);
        let text = cell.map_or_else(String::new, |cell| {
            self.experiment.design.describe(&cell).to_string()
        });
        match trial.role {
            TrialRole::Reference => format!("reference, {text}"),
            TrialRole::Cell | TrialRole::Confirm | TrialRole::Limit => text,
        }
    }

    fn outcome_text(&self, record: &TrialRecord) -> String {
        match &record.outcome {
            RecordedOutcome::Failed(reason) => format!("failed: {reason}"),
            RecordedOutcome::Void(reason) => format!("void: {reason}"),
            RecordedOutcome::Measured(metrics) => {
                let shown = self.metrics.iter().find_map(|name| {
                    let value = metrics.get(*name)?;
                    Some(format!(
                        "{} {}",
                        name.replace('_', " "),
                        number::short(*value)
                    ))
                });
                shown.unwrap_or_else(|| "measured".to_owned())
            }
        }
    }

    fn forecast(&self, records: &[TrialRecord], left: &[usize]) -> ExperimentForecast {
        ExperimentForecast::of(
            &self.estimated_ms,
            self.prices.as_ref(),
            records,
            left,
            self.budget,
        )
    }

    fn print(&self, text: &str) {
        if !self.quiet {
            print_over(text);
        }
    }
}

impl ExperimentWatcher for MatrixProgress {
    fn trial_started(&mut self, trial: &PlannedTrial, records: &[TrialRecord], left: &[usize]) {
        self.print(&format!(
            "trial {} of {}, block {}: {}",
            trial.index + 1,
            records.len() + left.len(),
            trial.block + 1,
            self.cell_text(trial)
        ));
    }

    fn trial_ended(&mut self, records: &[TrialRecord], left: &[usize]) {
        let Some(record) = records.last() else {
            return;
        };
        let left_s = number::seconds(whole_seconds(self.forecast(records, left).left_ms));
        self.print(&format!("  {}; {left_s} left", self.outcome_text(record)));
    }

    fn block_ended(&mut self, block: u32, records: &[TrialRecord], left: &[usize]) {
        if block > 0 || records.len() <= self.records_before {
            return;
        }
        let forecast = self.forecast(records, left);
        let forecast = BlockForecastObject {
            seconds: forecast.total_ms() / 1e3,
            price: forecast.total_price(),
        };
        let currency = self.prices.as_ref().map(CellPrices::currency);
        let most = if self.budget.is_some() {
            " at most"
        } else {
            ""
        };
        self.print(&format!(
            "forecast after the first block: {}{most} in all",
            block_forecast(forecast, currency)
        ));
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative, and a float beyond u64 saturates"
)]
fn whole_seconds(ms: f64) -> u64 {
    (ms / 1000.0).round() as u64
}
