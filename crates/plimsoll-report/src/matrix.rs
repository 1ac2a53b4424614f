//! What `plimsoll matrix` prints: one object as JSON, a table of trials, the terminal and a page.

mod charts;
mod distributions;
mod effects;
mod meters;
mod object;
mod page;
mod table;
#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeMap;

use plimsoll_analysis::experiment::result::{MatrixResult, MatrixTrials};

pub use object::{
    AxisObject, CellObject, CorrelationObject, DriftObject, EffectObject, ForecastObject,
    LawObject, MatrixFiles, MatrixObject, TrialCounts, schema,
};
pub use page::render;
pub use table::{csv, parquet};
pub use text::{forecast_summary, summary};

/// How far a matrix came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixState {
    /// All of its trials.
    Complete,
    /// Its budget is spent.
    Spent,
    /// The user stopped it; it can be resumed.
    Interrupted,
}

impl MatrixState {
    /// Its word in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Spent => "budget_spent",
            Self::Interrupted => "interrupted",
        }
    }
}

/// How a trial ended.
#[derive(Clone, Debug, PartialEq)]
pub enum TrialResult {
    /// Metrics by name.
    Measured(BTreeMap<String, f64>),
    /// Why the service failed.
    Failed(String),
    /// Why the measurement is void.
    Void(String),
}

/// A trial of a matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixTrial {
    /// Number of the trial, from 0.
    pub index: u32,
    /// Its block, from 0.
    pub block: u32,
    /// Its position in the block, from 0.
    pub position: u32,
    /// Index of its cell.
    pub cell: usize,
    /// Whether it is the reference trial of its block.
    pub is_reference: bool,
    /// Seed of its load.
    pub seed: u64,
    /// Seconds from the begin of the experiment.
    pub began_s: f64,
    /// How long it took, s.
    pub lasted_s: f64,
    /// How it ended.
    pub result: TrialResult,
    /// Its run files.
    pub runs: Vec<String>,
}

/// Everything about a matrix that is shown.
#[derive(Clone, Debug)]
pub struct MatrixReport<'m> {
    /// Name of the experiment.
    pub name: &'m str,
    /// Begin, RFC 3339.
    pub started_at: &'m str,
    /// Seed of the order.
    pub seed: u64,
    /// How far it came.
    pub state: MatrixState,
    /// Names of the axes.
    pub axes: Vec<String>,
    /// Text of the level on each axis, by cell; `None` where the axis is not varied.
    pub cells: Vec<Vec<Option<String>>>,
    /// The trials in their order.
    pub trials: &'m [MatrixTrial],
    /// Cells that a race dropped.
    pub dropped: Vec<usize>,
    /// Unit of the load line: `req/s`, `users`.
    pub load_unit: &'m str,
    /// Unit of prices, such as `EUR/h`.
    pub price_unit: Option<&'m str>,
    /// The trials as the arithmetic has them.
    pub input: &'m MatrixTrials,
    /// What they show.
    pub result: &'m MatrixResult,
}

impl MatrixReport<'_> {
    /// A cell for people: `cores=2 cache=page`.
    fn cell_text(&self, cell: usize) -> String {
        let levels = self.cells.get(cell).into_iter().flatten();
        let pairs = self.axes.iter().zip(levels);
        let texts = pairs.filter_map(|(axis, level)| Some(format!("{axis}={}", level.as_ref()?)));
        texts.collect::<Vec<_>>().join(" ")
    }

    /// A value of a metric with its unit.
    fn value_text(&self, metric: &str, value: f64) -> String {
        use plimsoll_analysis::experiment::metrics;
        match plimsoll_model::labels::metric(metric) {
            metrics::LOAD_LINE => format!("{} {}", crate::number::short(value), self.load_unit),
            metrics::THROUGHPUT => format!("{}/s", crate::number::short(value)),
            metrics::ERRORS | metrics::CPU => crate::number::percent(value),
            metrics::MEMORY => crate::number::bytes(crate::number::whole(value)),
            metrics::REQUESTS
            | metrics::OK
            | metrics::FAILED
            | metrics::FAST
            | metrics::MIDDLE
            | metrics::SLOW => crate::number::count(crate::number::whole(value)),
            _ => crate::number::micros_of(value * 1e3),
        }
    }

    /// A metric for people: `load line`, `p95 at 300/s`.
    fn metric_text(metric: &str) -> String {
        let label = plimsoll_analysis::experiment::metrics::definition(metric)
            .map_or(plimsoll_model::labels::metric(metric), |definition| {
                definition.label
            });
        match plimsoll_model::labels::label(metric, "load") {
            Some(load) => format!("{label} at {load}"),
            None => label.to_owned(),
        }
    }

    /// The main metric with its value in every trial of a cell that measured it.
    fn main_values(&self) -> Vec<(&MatrixTrial, f64)> {
        let Some(metric) = &self.result.metric else {
            return Vec::new();
        };
        let of_cells = self.trials.iter().filter(|trial| !trial.is_reference);
        let values = of_cells.filter_map(|trial| match &trial.result {
            TrialResult::Measured(metrics) => Some((trial, *metrics.get(metric)?)),
            _ => None,
        });
        values.collect()
    }
}
