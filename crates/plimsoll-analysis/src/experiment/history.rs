//! The history of a metric over runs: where it changed for good.
//!
//! Up to twenty runs a control chart answers; from there on change points. A level that one run alone has is a spike, not
//! a change; a trend without a step is a slide, and a change.

use crate::stats::control_chart::{self, Limits, Signal};
use crate::stats::divisive::{self, ChangePoint, Parameters};
use crate::stats::trend::{mann_kendall_correlated, theil_sen};

/// Runs from which change points are searched for.
pub const RUNS_MIN: usize = 20;
/// Runs that a slide takes at least.
const SLIDE_RUNS_MIN: usize = 12;

/// What a change looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// From a run to the next.
    Step,
    /// Little by little.
    Slide,
    /// In a single run, and back: no change.
    Spike,
}

/// A change of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistoryChange {
    /// What it looks like.
    pub kind: ChangeKind,
    /// Index of the first run of the new level; of a slide, of its first run.
    pub index: usize,
    /// Level before.
    pub before: f64,
    /// Level after.
    pub after: f64,
    /// Two-sided p-value.
    pub p: f64,
}

/// The changes of `series`, ascending; none with fewer than [`RUNS_MIN`] runs.
///
/// # Panics
/// When the series is longer than `divisive::SERIES_MAX`, or a value is not finite.
pub fn changes(series: &[f64], parameters: Parameters) -> Vec<HistoryChange> {
    if series.len() < RUNS_MIN {
        return Vec::new();
    }
    let points = divisive::change_points(series, parameters);
    let mut changes = Vec::new();
    let mut points_left = points.as_slice();
    while let [point, rest @ ..] = points_left {
        points_left = rest;
        if let Some(spike) = spike(series, point, rest.first(), parameters) {
            changes.push(spike);
            points_left = &rest[1..];
        } else {
            changes.push(HistoryChange {
                kind: ChangeKind::Step,
                index: point.index,
                before: point.before,
                after: point.after,
                p: point.p,
            });
        }
    }
    let starts = std::iter::once(0).chain(points.iter().map(|point| point.index));
    let ends = points.iter().map(|point| point.index).chain([series.len()]);
    let slides = starts
        .zip(ends)
        .filter_map(|(start, end)| slide(&series[start..end], start, parameters));
    changes.extend(slides);
    changes.sort_by_key(|change| change.index);
    changes
}

/// A level of a single run between two equal levels.
fn spike(
    series: &[f64],
    point: &ChangePoint,
    next: Option<&ChangePoint>,
    parameters: Parameters,
) -> Option<HistoryChange> {
    let next = next?;
    // As a product: shares of failures are often zero.
    let is_back = (next.after - point.before).abs()
        <= parameters.magnitude_min.max(0.01) * point.before.abs();
    (next.index == point.index + 1 && is_back).then(|| HistoryChange {
        kind: ChangeKind::Spike,
        index: point.index,
        before: point.before,
        after: series[point.index],
        p: point.p,
    })
}

/// A trend within a stretch without a step.
fn slide(stretch: &[f64], start: usize, parameters: Parameters) -> Option<HistoryChange> {
    if stretch.len() < SLIDE_RUNS_MIN {
        return None;
    }
    let p = mann_kendall_correlated(stretch).p;
    let line = theil_sen(stretch)?;
    let change = HistoryChange {
        kind: ChangeKind::Slide,
        index: start,
        before: line.intercept,
        after: line.intercept + line.slope * (stretch.len() as f64 - 1.0),
        p,
    };
    let magnitude = (change.after / change.before - 1.0).abs();
    (p <= parameters.p_max && magnitude > parameters.magnitude_min).then_some(change)
}

/// The chart of the newest run against the accepted runs before it, at most the last twenty: the limits, and why the newest
/// stands out. `None` with fewer than two runs before.
pub fn chart(accepted: &[f64], newest: f64) -> Option<(Limits, Option<Signal>)> {
    let recent = &accepted[accepted.len().saturating_sub(RUNS_MIN)..];
    let limits = control_chart::robust_limits(recent)?;
    let mut values = recent.to_vec();
    values.push(newest);
    let last = values.len() - 1;
    let signals = control_chart::signals(&values, limits);
    let signal = signals.into_iter().find(|(index, _)| *index == last);
    Some((limits, signal.map(|(_, signal)| signal)))
}

#[cfg(test)]
mod against_otava;

#[cfg(test)]
mod tests {
    use plimsoll_model::seed::Seed;
    use rand::RngExt as _;

    use super::*;

    fn noisy(levels: impl Iterator<Item = f64>, seed: u64) -> Vec<f64> {
        let mut random = Seed(seed).generator();
        levels
            .map(|level| level * (1.0 + random.random_range(-0.01_f64..0.01)))
            .collect()
    }

    fn kinds(series: &[f64]) -> Vec<ChangeKind> {
        let changes = changes(series, Parameters::default());
        changes.iter().map(|change| change.kind).collect()
    }

    #[test]
    fn a_step_is_a_change_and_where() {
        let series = noisy((0..60).map(|run| if run < 35 { 100.0 } else { 110.0 }), 1);
        let changes = changes(&series, Parameters::default());
        assert_eq!(changes.len(), 1, "{changes:?}");
        assert_eq!((changes[0].kind, changes[0].index), (ChangeKind::Step, 35));
        assert!((changes[0].after / changes[0].before - 1.1).abs() < 0.01);
    }

    #[test]
    fn a_lone_spike_is_no_change() {
        for seed in 0..20 {
            let series = noisy(
                (0..60).map(|run| if run == 30 { 300.0 } else { 100.0 }),
                seed,
            );
            assert!(
                kinds(&series).iter().all(|kind| *kind == ChangeKind::Spike),
                "seed {seed}"
            );
        }
    }

    #[test]
    fn a_lone_spike_above_zero_is_no_change() {
        let series: Vec<f64> = (0..40)
            .map(|run| if run == 20 { 0.3 } else { 0.0 })
            .collect();
        assert!(kinds(&series).iter().all(|kind| *kind == ChangeKind::Spike));
    }

    #[test]
    fn a_slow_slide_is_a_change() {
        for seed in 0..20 {
            let series = noisy((0..60).map(|run| 100.0 + 0.3 * f64::from(run)), seed);
            assert!(
                kinds(&series).iter().any(|kind| *kind != ChangeKind::Spike),
                "seed {seed}"
            );
        }
    }

    #[test]
    fn steady_and_short_histories_have_no_change() {
        let alarms = (0..100)
            .filter(|&seed| !kinds(&noisy((0..60).map(|_| 100.0), seed)).is_empty())
            .count();
        assert!(alarms <= 2, "{alarms} of 100");
        assert!(kinds(&[1.0, 2.0, 3.0]).is_empty());
    }

    #[test]
    fn the_chart_names_why_the_newest_stands_out() {
        let accepted = noisy((0..15).map(|_| 100.0), 3);
        let (limits, signal) = chart(&accepted, 100.0).unwrap();
        assert!(limits.low < 100.0 && limits.high > 100.0);
        assert_eq!(signal, None);
        let (_, signal) = chart(&accepted, 120.0).unwrap();
        assert_eq!(signal, Some(Signal::Outside));
        assert_eq!(chart(&accepted[..1], 120.0), None);
    }
}
