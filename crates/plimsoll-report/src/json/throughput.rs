//! The objects of throughput against load.

use plimsoll_analysis::summary::Summary;
use schemars::JsonSchema;
use serde::Serialize;

/// What came back at one load: a step of a run, a piece of a ramp, or a trial of a search.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "LoadPoint")]
pub struct LoadPointObject {
    /// First second of run time.
    pub second: u32,
    /// How many seconds it lasted.
    pub seconds: u32,
    /// The load in `unit`.
    pub load: f64,
    /// Unit of the load: `req/s`, `users` or `sessions/s`.
    pub unit: String,
    /// Requests due per second.
    pub offered: f64,
    /// Complete responses per second, good or not.
    pub completed: f64,
    /// Failed requests per second.
    pub failed: f64,
}

impl LoadPointObject {
    pub(super) fn all(summary: &Summary) -> Vec<Self> {
        let points = summary.throughput.iter().map(|point| Self {
            second: point.second,
            seconds: point.seconds,
            load: point.load,
            unit: point.unit.symbol().to_owned(),
            offered: point.offered,
            completed: point.completed,
            failed: point.failed,
        });
        points.collect()
    }
}
