//! Cells of the tables of steps and URLs, in HTML and as text.

use plimsoll_analysis::summary::breakdown::ScopeMetrics;
use plimsoll_model::trial::Percentiles;

use crate::number::{bytes, count, percent, short};

/// Numbers of a step as text and value, which is missing without a measurement: samples, mean, p50, p75, p90, p95, p99
/// (ms as text, µs as value), errors, throughput, bytes.
pub(crate) fn step_cells(metrics: &ScopeMetrics) -> [(String, Option<f64>); 10] {
    let times = metrics.response_us.as_ref();
    let time = |pick: fn(&Percentiles) -> f64| {
        let us = times.map(pick);
        let text = us.map_or_else(|| "–".to_owned(), |us| short(us / 1e3));
        (text, us)
    };
    let errors = metrics.error_share();
    [
        (count(metrics.samples), Some(metrics.samples as f64)),
        time(|times| times.mean),
        time(|times| times.p50 as f64),
        time(|times| times.p75 as f64),
        time(|times| times.p90 as f64),
        time(|times| times.p95 as f64),
        time(|times| times.p99 as f64),
        (percent(errors), Some(errors)),
        (short(metrics.throughput), Some(metrics.throughput)),
        (bytes(metrics.bytes), Some(metrics.bytes as f64)),
    ]
}
