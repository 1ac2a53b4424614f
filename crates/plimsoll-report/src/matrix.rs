//! What `plimsoll matrix` prints: one object as JSON, a table of trials, the terminal and a page.

mod charts;
mod correlations;
mod distributions;
mod effects;
mod meters;
mod meters_object;
mod object;
mod page;
mod table;
#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeMap;

use plimsoll_analysis::experiment::cost::Estimate;
use plimsoll_analysis::experiment::metrics;
use plimsoll_analysis::experiment::result::{MatrixResult, MatrixTrials};
use plimsoll_model::experiment::ExperimentEnd;
use plimsoll_model::plan::LoadUnit;
use plimsoll_model::price::Price;

use crate::cost::{CostObject, PricedLine};

pub use object::{
    AxisObject, BlockForecastObject, CellObject, CorrelationObject, DriftObject, EffectObject,
    ForecastObject, ForecastPriceObject, LawObject, MatrixFiles, MatrixObject, SpentObject,
    TrialCounts, forecast_schema, schema,
};
pub use page::render;
pub use table::{csv, parquet};
pub use text::{block_forecast, forecast_summary, summary};

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

/// What a cell costs.
#[derive(Clone, Debug, PartialEq)]
pub struct CellPricing {
    /// The prices.
    pub price: Price,
    /// Of the resources that the service holds.
    pub per_hour: f64,
    /// Bytes that it sent, by request.
    pub bytes_by_request: f64,
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
    pub state: ExperimentEnd,
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
    /// What each cell costs; empty without prices.
    pub pricing: Vec<CellPricing>,
    /// What the trials cost; `None` without prices.
    pub spent: Option<SpentObject>,
    /// What was forecast after the first block.
    pub forecast: Option<BlockForecastObject>,
    /// The trials as the arithmetic has them.
    pub input: &'m MatrixTrials,
    /// What they show.
    pub result: &'m MatrixResult,
}

impl MatrixReport<'_> {
    /// Time of all trials, s.
    fn seconds(&self) -> f64 {
        self.trials.iter().map(|trial| trial.lasted_s).sum()
    }

    /// The cost at the load line of a cell; `None` without prices, a line or its interval.
    fn cost(&self, cell: usize) -> Option<CostObject> {
        if self.result.metric.as_deref() != Some(metrics::LOAD_LINE) {
            return None;
        }
        let units = [LoadUnit::RequestsPerSecond, LoadUnit::Users];
        let unit = units
            .into_iter()
            .find(|unit| unit.symbol() == self.load_unit)?;
        let (pricing, result) = (self.pricing.get(cell)?, self.result.cells.get(cell)?);
        let (value, (low, high)) = (result.level?, result.interval?);
        CostObject::at_line(&PricedLine {
            level: Estimate { value, low, high },
            unit,
            price: &pricing.price,
            per_hour: pricing.per_hour,
            bytes_by_request: pricing.bytes_by_request,
        })
    }

    /// A cell for people: `cores=2 cache=page`.
    fn cell_text(&self, cell: usize) -> String {
        let levels = self.cells.get(cell).into_iter().flatten();
        let pairs = self.axes.iter().zip(levels);
        let texts = pairs.filter_map(|(axis, level)| Some(format!("{axis}={}", level.as_ref()?)));
        texts.collect::<Vec<_>>().join(" ")
    }

    /// A value of a metric with its unit.
    fn value_text(&self, metric: &str, value: f64) -> String {
        match plimsoll_model::labels::metric(metric) {
            metrics::LOAD_LINE => format!("{} {}", crate::number::short(value), self.load_unit),
            metrics::THROUGHPUT => crate::number::rate(value),
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

    /// The unit of an axis whose ticks have none: `, req/s`.
    fn axis_unit(&self, metric: &str) -> String {
        use plimsoll_analysis::experiment::metrics;
        match plimsoll_model::labels::metric(metric) {
            metrics::LOAD_LINE => format!(", {}", self.load_unit),
            metrics::THROUGHPUT => ", req/s".to_owned(),
            _ => String::new(),
        }
    }

    /// A tick: the number alone where the title of the axis has the unit.
    fn tick_text(&self, metric: &str, value: f64) -> String {
        if self.axis_unit(metric).is_empty() {
            self.value_text(metric, value)
        } else {
            crate::number::short(value)
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
