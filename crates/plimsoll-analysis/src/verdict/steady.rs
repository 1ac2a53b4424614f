//! Whether response times settled within a trial, and from when on.

use plimsoll_model::trial::{TrialKind, TrialSpec};
use plimsoll_model::window::Window;

use super::answers::MeasuredSeconds;
use crate::stats::changepoint::change_points;
use crate::stats::order::median;
use crate::stats::trend::{mann_kendall_correlated, theil_sen};
use crate::stats::warmup::mser;

/// Total change of the level over the judged seconds that is drift and not noise, as a share of the median.
const CHANGE_MIN: f64 = 0.25;
/// Significance of that change.
const CHANGE_P: f64 = 0.01;

/// Median response time of good answers per second, µs; seconds without answers are left out.
///
/// Medians, where MSER-5 takes means: one stalled request moves a second's mean and says nothing of warm-up.
fn levels(windows: &[Window]) -> Vec<f64> {
    windows
        .iter()
        .filter_map(|window| window.response.quantile(0.5))
        .map(|value| value as f64)
        .collect()
}

/// Leading seconds of `level` that still belong to the warm-up.
///
/// MSER-5 alone cuts bursts of a steady but busy queue too, and cutting bursts makes a failing trial pass. So its cut
/// is used only where the change-point guard finds a level change at about the same place, and the level fell:
/// warming up means getting faster.
pub(super) fn seconds_to_drop(spec: &TrialSpec, windows: &[Window], level: (u32, u32)) -> u32 {
    if !spec.kind.counts_for_line() {
        return 0;
    }
    let measured = MeasuredSeconds::of(windows, level);
    let series = levels(measured.windows);
    let cut = mser(&series);
    let Some(change) = change_points(&series).first().copied() else {
        return 0;
    };
    let (Some(before), Some(after)) = (median(&series[..change]), median(&series[change..])) else {
        return 0;
    };
    let warming = cut > 0 && change <= series.len() / 3 && cut.abs_diff(change) <= 2;
    if warming && before > 1.5 * after {
        u32::try_from(change).unwrap_or(0)
    } else {
        0
    }
}

/// Whether the response times of a trial that would pass still drift: MSER-5 finds no start of a steady state, or
/// the level changes, and a trend test corrected for autocorrelation agrees.
pub(super) fn is_steady(kind: TrialKind, windows: &[Window]) -> bool {
    let series = levels(windows);
    // A soak exists to observe changes.
    if matches!(kind, TrialKind::Single | TrialKind::Soak) || series.len() < 6 {
        return true;
    }
    let suspect = mser(&series) >= series.len() / 2 || !change_points(&series).is_empty();
    let Some((line, middle)) = theil_sen(&series).zip(median(&series)) else {
        return true;
    };
    let change = line.slope.abs() * series.len() as f64;
    !(suspect && change > CHANGE_MIN * middle && mann_kendall_correlated(&series).p < CHANGE_P)
}
