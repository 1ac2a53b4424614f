//! The meters of cells as JSON.

use plimsoll_analysis::experiment::result::StudyMeters;
use schemars::JsonSchema;
use serde::Serialize;

use super::MatrixReport;

/// Meters of a cell. They count correlated axes twice and grow with the square; `mean` does neither, and ranks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetersObject {
    /// Index of the cell.
    pub cell: usize,
    /// Computing resource allocation: the price.
    pub cram: Option<f64>,
    /// Computing resource utilisation: CPU, memory and price.
    pub crum: Option<f64>,
    /// Performance: throughput, p95 and the share of good answers.
    pub spm: Option<f64>,
    /// Load: the load line, or the throughput.
    pub slm: Option<f64>,
    /// Capacity: load, performance and allocated resources.
    pub scm: Option<f64>,
    /// Effective capacity: load, performance and used resources.
    pub sec: Option<f64>,
    /// Productivity F = λ · f / C; an answer at the objective is worth a half.
    pub productivity: Option<f64>,
    /// Geometric mean of all axes against the reference.
    pub mean: Option<f64>,
    /// The worst axis against the reference.
    pub worst_axis: Option<f64>,
    /// The meters as the market study computes them, in units. They depend on the order of the axes and on units.
    pub study: StudyMetersObject,
}

/// Meters of a cell as the market study computes them; null where an axis was not measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StudyMetersObject {
    /// Allocated: machines, CPUs, GiB of memory.
    pub cram: Option<f64>,
    /// Used: CPU, memory and disk, in percent.
    pub crum: Option<f64>,
    /// Performance: 1/p50 in 1/ms, answers per minute, good answers in percent.
    pub spm: Option<f64>,
    /// Load: the load line (else the throughput), requests, requests in flight.
    pub slm: Option<f64>,
    /// Capacity: SLM, SPM and CRAM.
    pub scm: Option<f64>,
    /// Effective capacity: SLM, SPM and CRUM; with prices also hours per unit of money.
    pub sec: Option<f64>,
    /// Effective scalability: (SLM/lowest SLM)/(SEC/lowest SEC).
    pub ess: Option<f64>,
}

impl From<StudyMeters> for StudyMetersObject {
    fn from(meters: StudyMeters) -> Self {
        Self {
            cram: meters.allocated,
            crum: meters.used,
            spm: meters.performance,
            slm: meters.load,
            scm: meters.capacity,
            sec: meters.effective_capacity,
            ess: meters.scalability,
        }
    }
}

/// The meters of all cells that were measured.
pub(super) fn meters(report: &MatrixReport<'_>) -> Vec<MetersObject> {
    let meters = report.result.meters.iter().enumerate();
    meters
        .filter(|(_, meters)| meters.mean.is_some())
        .map(|(cell, meters)| MetersObject {
            cell,
            cram: meters.allocated,
            crum: meters.used,
            spm: meters.performance,
            slm: meters.load,
            scm: meters.capacity,
            sec: meters.effective_capacity,
            productivity: meters.productivity,
            mean: meters.mean,
            worst_axis: meters.worst_axis,
            study: report.result.study[cell].into(),
        })
        .collect()
}
