//! The same load several times, one run after another: what grows from run to run does not recover.
//!
//! The slope of each metric by run is that of least squares, with Student's interval of n − 2 degrees of freedom. As several metrics
//! are looked at, each has to be certain by its share of 5 % (Bonferroni) before it is named.

use plimsoll_model::labels;
use plimsoll_model::metric;
use plimsoll_model::run::Run;

use super::metrics::{self, RunMetrics};
use crate::stats::exact::student_quantile;
use crate::stats::line::line_through;

/// File descriptors of the target at the end of a run.
pub const DESCRIPTORS: &str = "descriptors";
/// What must not grow from run to run, in the order of the table.
const GROWING: [&str; 7] = [
    metrics::MEMORY,
    metrics::CPU,
    metrics::CPU_PER_REQUEST,
    DESCRIPTORS,
    metrics::P50,
    metrics::P95,
    metrics::ERRORS,
];
/// Seconds at the end of a run whose descriptors are averaged.
const LAST_SECONDS: u32 = 5;
/// Growth over all runs below this share of the first is not worth a word.
const GROWTH_MIN: f64 = 0.05;
/// The same of a share of failures.
const ERRORS_GROWTH_MIN: f64 = 0.005;
/// Probability of naming any metric of a service that recovers.
const FALSE_ALARMS_MAX: f64 = 0.05;

/// A metric over the runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RepeatedMetric {
    name: String,
    values: Vec<Option<f64>>,
    slope: Option<RepeatedSlope>,
    recovers: Option<bool>,
}

/// Increase from run to run, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RepeatedSlope {
    /// Increase by run.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl RepeatedMetric {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value of each run; `None` where it was not measured.
    pub fn values(&self) -> &[Option<f64>] {
        &self.values
    }

    /// Increase by run; `None` with fewer than three values.
    pub fn slope(&self) -> Option<RepeatedSlope> {
        self.slope
    }

    /// Whether it stays level; `None` with fewer than three values.
    pub fn recovers(&self) -> Option<bool> {
        self.recovers
    }
}

/// The metrics of runs that were made one after another; those that no run has are left out.
pub fn repeated(runs: &[&Run]) -> Vec<RepeatedMetric> {
    let of_runs: Vec<RunMetrics> = runs.iter().map(|run| RunMetrics::of(run)).collect();
    let series: Vec<(&str, Vec<Option<f64>>)> = GROWING
        .into_iter()
        .map(|name| {
            let of_run = |(run, metrics): (&&Run, &RunMetrics)| match name {
                DESCRIPTORS => descriptors(run),
                name => metrics.value(name),
            };
            let is_valid = |metrics: &RunMetrics| *metrics.validity() == metrics::Validity::Valid;
            let pairs = runs.iter().zip(&of_runs);
            let values = pairs.map(|pair| of_run(pair).filter(|_| is_valid(pair.1)));
            (name, values.collect())
        })
        .collect();
    trends(&series)
}

/// Mean of the last seconds of a run.
fn descriptors(run: &Run) -> Option<f64> {
    let end = run.windows.last()?.second + 1;
    let series = labels::series(metric::PROCESS_FILES, &[("process", metric::TARGET)]);
    let values = run
        .readings
        .between(&series, end.saturating_sub(LAST_SECONDS), end);
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The slopes of series by run.
fn trends(series: &[(&str, Vec<Option<f64>>)]) -> Vec<RepeatedMetric> {
    let measured: Vec<&(&str, Vec<Option<f64>>)> = series
        .iter()
        .filter(|(_, values)| values.iter().any(Option::is_some))
        .collect();
    let level = FALSE_ALARMS_MAX / measured.len().max(1) as f64;
    measured
        .into_iter()
        .map(|(name, values)| trend(name, values, level))
        .collect()
}

fn trend(name: &str, values: &[Option<f64>], level: f64) -> RepeatedMetric {
    let points: Vec<(f64, f64)> = values
        .iter()
        .enumerate()
        .filter_map(|(run, value)| Some((run as f64, (*value)?)))
        .collect();
    let fitted = line_through(&points).and_then(|line| {
        let freedom = points.len() as f64 - 2.0;
        let reach = |p: f64| Some(student_quantile(freedom, 1.0 - p)? * line.slope_error);
        let ends = (points.first()?.0, points.last()?.0);
        Some((line, reach(0.05)?, reach(level)?, ends))
    });
    let slope = fitted.map(|(line, reach, ..)| RepeatedSlope {
        value: line.slope,
        low: line.slope - reach,
        high: line.slope + reach,
    });
    let recovers = fitted.map(|(line, _, certain, (first, last))| {
        let growth = line.slope * (last - first);
        let before = line.intercept + line.slope * first;
        let least = if name == metrics::ERRORS {
            ERRORS_GROWTH_MIN
        } else {
            GROWTH_MIN * before.abs()
        };
        line.slope - certain <= 0.0 || growth < least
    });
    RepeatedMetric {
        name: name.to_owned(),
        values: values.to_vec(),
        slope,
        recovers,
    }
}

#[cfg(test)]
mod tests;
