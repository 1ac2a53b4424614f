//! The objects of CPU and TCP states.

use plimsoll_analysis::summary::Summary;
use schemars::JsonSchema;
use serde::Serialize;

/// What one series of readings did over the whole run: CPU of the machine and its programs, TCP sockets by state.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Resource")]
pub struct ResourceObject {
    /// For people: `machine`, `target`, the name of a program, or a state of TCP.
    pub name: String,
    /// The series, as in the run file.
    pub series: String,
    /// Its unit: `1` for a share, `{connection}` for a count.
    pub unit: String,
    /// Arithmetic mean.
    pub mean: f64,
    /// The highest reading.
    pub max: f64,
    /// Second of run time of the highest reading, the first of several.
    pub max_second: u32,
}

impl ResourceObject {
    pub(super) fn all(summary: &Summary) -> Vec<Self> {
        let resources = summary.resources.iter().map(|resource| Self {
            name: resource.series.name.clone(),
            series: resource.series.series.clone(),
            unit: resource.unit.clone(),
            mean: resource.mean,
            max: resource.max,
            max_second: resource.max_second,
        });
        resources.collect()
    }
}
