//! What is told of time and price before the start, and after the first block.

use std::time::Duration;

use plimsoll_lab::experiment::block::Blocks as _;
use plimsoll_lab::experiment::forecast::{CellPrices, ExperimentForecast};
use plimsoll_lab::experiment::log::ExperimentLog;
use plimsoll_lab::experiment::matrix::{MatrixBlocks, MatrixDesign};
use plimsoll_lab::experiment::trial::TrialRecord;
use plimsoll_model::experiment::Axis;
use plimsoll_model::seed::Seed;
use plimsoll_report::matrix::{
    AxisObject, BlockForecastObject, ForecastObject, ForecastPriceObject, MatrixObject,
};

use super::{PreparedMatrix, design};

/// Cells, trials, time and price of an experiment whose log has `records`.
pub(super) fn object(
    prepared: &PreparedMatrix,
    within: Option<Duration>,
    seed: Option<u64>,
    records: &[TrialRecord],
) -> ForecastObject {
    let experiment = &prepared.file.experiment;
    let design = design(prepared, within, Seed(seed.unwrap_or(0)));
    let whole = forecast(prepared, &design, None, records);
    let axes = experiment.design.axes().iter();
    let shown = |axis: &Axis| AxisObject {
        name: axis.name().to_owned(),
        levels: axis.levels().to_vec(),
    };
    ForecastObject {
        format_version: MatrixObject::FORMAT_VERSION.to_owned(),
        name: experiment.name.clone(),
        axes: axes.map(shown).collect(),
        cells: experiment
            .listed()
            .iter()
            .map(|cell| experiment.design.describe(cell).to_string())
            .collect(),
        trials_per_cell: experiment.trials,
        trials: MatrixBlocks::trials_total(&design),
        trials_done: records.len() as u64,
        seconds: whole.total_ms() / 1e3,
        within_s: within.map(|within| within.as_secs_f64()),
        seed,
        price_unit: prepared.cost.as_ref().map(|cost| cost.unit.clone()),
        price: price(prepared, whole, within, records),
    }
}

/// The price of a forecast. A budget cannot be spent on more than the dearest cell.
fn price(
    prepared: &PreparedMatrix,
    whole: ExperimentForecast,
    within: Option<Duration>,
    records: &[TrialRecord],
) -> Option<ForecastPriceObject> {
    let prices = prices(prepared)?;
    let mut value = whole.total_price()?;
    if let Some(within) = within {
        let left_ms = (within.as_secs_f64() * 1e3 - whole.elapsed_ms).max(0.0);
        let cells = 0..prices.cells().len();
        let dearest = cells
            .map(|cell| prices.held_for(cell, left_ms))
            .fold(0.0, f64::max);
        value = value.min(whole.spent? + dearest);
    }
    let has_traffic = prices.cells().iter().any(|cell| cell.price.has_traffic());
    Some(ForecastPriceObject {
        value,
        currency: prices.currency().to_owned(),
        spent: whole.spent?,
        is_without_traffic: has_traffic && records.is_empty(),
    })
}

/// What was forecast at the end of the first block; `None` before it.
pub(super) fn after_first_block(
    prepared: &PreparedMatrix,
    within: Option<Duration>,
    log: &ExperimentLog,
) -> Option<BlockForecastObject> {
    let records = log.records();
    let design = design(prepared, within, Seed(log.header().seed));
    let len = design.cells + usize::from(design.reference.is_some());
    let first = records.get(..len)?;
    let forecast = forecast(prepared, &design, within, first);
    Some(BlockForecastObject {
        seconds: forecast.total_ms() / 1e3,
        price: forecast.total_price(),
    })
}

/// The whole experiment, of which no cell is dropped.
fn forecast(
    prepared: &PreparedMatrix,
    design: &MatrixDesign,
    budget: Option<Duration>,
    records: &[TrialRecord],
) -> ExperimentForecast {
    let left = MatrixBlocks::new(design.clone()).cells_left(records);
    ExperimentForecast::of(
        &prepared.estimated_ms,
        prices(prepared),
        records,
        &left,
        budget,
    )
}

fn prices(prepared: &PreparedMatrix) -> Option<&CellPrices> {
    prepared.cost.as_ref()?.prices.as_ref()
}
