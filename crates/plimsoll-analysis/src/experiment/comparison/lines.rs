//! Load lines of two searches.
//!
//! Each search gives a line with a 90 % credible interval. The interval of the ratio is recovered from both on logarithms,
//! L = d − √((m₂ − l₂)² + (u₁ − m₁)²) and U accordingly (Zou and Donner, Statistics in Medicine 27, 2008, MOVER), and
//! widened from 90 % to 95 % as for a normal law.

use plimsoll_model::load_line::NoLine;
use plimsoll_model::run::Run;

use super::super::effect::{Criteria, EffectVerdict};
use super::super::metrics::{LOAD_LINE, definition};
use super::super::trial::Scale;
use super::{ComparedMetric, Evidence, MetricWeight};
use crate::stats::exact::normal_quantile;

/// Confidence of the interval of a line.
const LINE_CONFIDENCE: f64 = 0.9;

/// What a search found out about the line.
#[derive(Clone, Copy, Debug, PartialEq)]
enum KnownLine {
    /// An interval; its upper end is infinite where no load that was tried broke the objective.
    Between { low: f64, median: f64, high: f64 },
    /// The objective is missed at any load.
    Nowhere,
    /// Nothing.
    Unknown,
}

fn known_line(run: &Run) -> KnownLine {
    let Some(search) = &run.search else {
        return KnownLine::Unknown;
    };
    let (low, median, high) = match &search.line {
        Ok(line) => (line.low, line.median, line.high),
        Err(NoLine::MissedAtOnce { .. }) => return KnownLine::Nowhere,
        Err(NoLine::NotReached { highest_passed }) => {
            (*highest_passed, *highest_passed, f64::INFINITY)
        }
        Err(none) => match none.estimate() {
            Some(estimate) => (estimate.low, estimate.median, estimate.high),
            None => return KnownLine::Unknown,
        },
    };
    if low > 0.0 && low <= median && median <= high {
        KnownLine::Between { low, median, high }
    } else {
        KnownLine::Unknown
    }
}

/// The lines of two searches.
pub(super) fn compared(baseline: &Run, candidate: &Run, criteria: Criteria) -> ComparedMetric {
    let (before, after) = (known_line(baseline), known_line(candidate));
    let level = |line: KnownLine| match line {
        KnownLine::Between { median, .. } => Some(median),
        KnownLine::Nowhere => Some(0.0),
        KnownLine::Unknown => None,
    };
    let metric = ComparedMetric {
        name: LOAD_LINE,
        definition: definition(LOAD_LINE).expect("the line is defined"),
        baseline: level(before),
        candidate: level(after),
        estimate: None,
        low: None,
        high: None,
        is_of_mean: false,
        verdict: EffectVerdict::Undecided,
        evidence: Evidence::Lines,
        weight: MetricWeight::Main,
    };
    match (before, after) {
        (KnownLine::Between { .. }, KnownLine::Nowhere) => ComparedMetric {
            estimate: Some(0.0),
            verdict: EffectVerdict::Worse,
            ..metric
        },
        (KnownLine::Nowhere, KnownLine::Between { .. }) => ComparedMetric {
            verdict: EffectVerdict::Better,
            ..metric
        },
        (
            KnownLine::Between { low, median, high },
            KnownLine::Between {
                low: low_after,
                median: median_after,
                high: high_after,
            },
        ) => {
            let logs = |values: [f64; 3]| values.map(f64::ln);
            let before = logs([low, median, high]);
            ratio(
                metric,
                before,
                logs([low_after, median_after, high_after]),
                criteria.margin,
            )
        }
        _ => metric,
    }
}

/// The logarithm of the ratio of two lines with its 95 % interval, (low, ratio, high), from the logarithms of their (low,
/// median, high).
pub(in super::super) fn log_ratio(
    [low, median, high]: [f64; 3],
    [low_after, median_after, high_after]: [f64; 3],
) -> [f64; 3] {
    let wider = normal_quantile(0.975) / normal_quantile(f64::midpoint(1.0, LINE_CONFIDENCE));
    let difference = median_after - median;
    let below = difference - wider * (median_after - low_after).hypot(high - median);
    let above = difference + wider * (high_after - median_after).hypot(median - low);
    [below, difference, above]
}

/// The ratio of two lines, each as the logarithms of (low, median, high).
fn ratio(
    metric: ComparedMetric,
    [low, median, high]: [f64; 3],
    [low_after, median_after, high_after]: [f64; 3],
    margin: f64,
) -> ComparedMetric {
    let [below, difference, above] =
        log_ratio([low, median, high], [low_after, median_after, high_after]);
    let margin = Scale::Ratio.margin(margin);
    let verdict = if below > margin {
        EffectVerdict::Better
    } else if above < -margin {
        EffectVerdict::Worse
    } else if below >= -margin && above <= margin {
        EffectVerdict::Same
    } else {
        EffectVerdict::Undecided
    };
    let bound = |value: f64| value.is_finite().then(|| value.exp());
    ComparedMetric {
        // Without an upper end the medians are only bounds.
        estimate: (high.is_finite() && high_after.is_finite()).then(|| difference.exp()),
        low: bound(below),
        high: bound(above),
        verdict,
        ..metric
    }
}
