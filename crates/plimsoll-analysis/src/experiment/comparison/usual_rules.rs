//! What rules in common use conclude from the same trials: the last value against the one before, a t-test on requests,
//! and change points as Otava finds them. None of them decides here.

use plimsoll_model::histogram::Histogram;

use super::ComparisonVerdict;
use super::blocks::{BASELINE, CANDIDATE};
use crate::experiment::effect::Direction;
use crate::experiment::metrics::definition;
use crate::experiment::trial::{ExperimentTrial, Scale};
use crate::stats::divisive::{Parameters, change_points};
use crate::stats::exact::student_p;

/// A change of the last value that counts.
const LAST_CHANGE: f64 = 0.1;
/// P-value below which a t-test is significant.
const T_TEST_P: f64 = 0.05;
/// Otava's defaults: a window of 50, p below 0.001, any size.
const OTAVA: Parameters = Parameters {
    window_len: 50,
    p_max: 0.001,
    magnitude_min: 0.0,
};

/// A rule and its verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleVerdict {
    /// The rule in words.
    pub rule: &'static str,
    /// What it concludes.
    pub verdict: ComparisonVerdict,
}

/// The verdicts of the rules that can be applied to a metric of the trials; `requests` are the response times of the last
/// trial of each side.
pub fn usual_verdicts(
    trials: &[ExperimentTrial],
    metric: &str,
    requests: Option<[&Histogram; 2]>,
) -> Vec<RuleVerdict> {
    let Some(definition) = definition(metric) else {
        return Vec::new();
    };
    let values = |levels: &[usize]| -> Vec<f64> {
        trials
            .iter()
            .filter(|trial| trial.levels() == Some(levels))
            .filter_map(|trial| trial.value(metric, Scale::Difference))
            .collect()
    };
    let (before, after) = (values(&BASELINE), values(&CANDIDATE));
    let verdict = |change: f64| match definition.direction {
        _ if change == 0.0 => ComparisonVerdict::Same,
        Direction::HigherIsBetter if change > 0.0 => ComparisonVerdict::Better,
        Direction::LowerIsBetter if change < 0.0 => ComparisonVerdict::Better,
        _ => ComparisonVerdict::Worse,
    };
    let rules = [
        (
            "the last trial against the last, 10 %",
            last_change(&before, &after).map(verdict),
        ),
        (
            "change points of Otava, baseline then candidate",
            otava_change(&before, &after).map(verdict),
        ),
        (
            "t-test on the requests of the last trials, p < 0.05",
            requests.and_then(|[before, after]| {
                // More time is worse, whatever the metric.
                let change = t_test_change(before, after)?;
                Some(match change.total_cmp(&0.0) {
                    std::cmp::Ordering::Less => ComparisonVerdict::Better,
                    std::cmp::Ordering::Equal => ComparisonVerdict::Same,
                    std::cmp::Ordering::Greater => ComparisonVerdict::Worse,
                })
            }),
        ),
    ];
    rules
        .into_iter()
        .filter_map(|(rule, verdict)| {
            Some(RuleVerdict {
                rule,
                verdict: verdict?,
            })
        })
        .collect()
}

/// The change from the last value to the last, zero when it is small.
fn last_change(before: &[f64], after: &[f64]) -> Option<f64> {
    let (before, after) = (before.last()?, after.last()?);
    let change = after - before;
    Some(if change.abs() > LAST_CHANGE * before.abs() {
        change
    } else {
        0.0
    })
}

/// The change at the first change point of the baseline's values followed by the candidate's; zero without any.
fn otava_change(before: &[f64], after: &[f64]) -> Option<f64> {
    if before.len() < 2 || after.len() < 2 {
        return None;
    }
    let series: Vec<f64> = before.iter().chain(after).copied().collect();
    let first = change_points(&series, OTAVA).into_iter().next();
    Some(first.map_or(0.0, |point| point.after - point.before))
}

/// The difference of the means by Welch's t-test, zero when it is not significant.
fn t_test_change(before: &Histogram, after: &Histogram) -> Option<f64> {
    let moments = |histogram: &Histogram| {
        let n = histogram.count() as f64;
        let deviation = histogram.standard_deviation()?;
        (n > 1.0).then(|| Some((histogram.mean()?, deviation * deviation / n, n)))?
    };
    let ((mean_before, error_before, n), (mean_after, error_after, m)) =
        (moments(before)?, moments(after)?);
    let error = error_before + error_after;
    if error <= 0.0 {
        return Some(mean_after - mean_before);
    }
    let freedom = error * error
        / (error_before * error_before / (n - 1.0) + error_after * error_after / (m - 1.0));
    let p = student_p(freedom, (mean_after - mean_before) / error.sqrt())?;
    Some(if p < T_TEST_P {
        mean_after - mean_before
    } else {
        0.0
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::experiment::metrics::P95;
    use crate::experiment::trial::{Role, TrialOutcome};

    fn trials(values: &[(usize, f64)]) -> Vec<ExperimentTrial> {
        let trial = |(index, &(side, value)): (usize, &(usize, f64))| {
            let metrics = BTreeMap::from([(P95.to_owned(), value)]);
            ExperimentTrial::new(
                0,
                index as f64,
                Role::Cell(vec![side]),
                TrialOutcome::Measured(metrics),
            )
        };
        values.iter().enumerate().map(trial).collect()
    }

    fn verdicts(values: &[(usize, f64)]) -> Vec<ComparisonVerdict> {
        usual_verdicts(&trials(values), P95, None)
            .into_iter()
            .map(|rule| rule.verdict)
            .collect()
    }

    #[test]
    fn the_last_values_decide_alone() {
        use ComparisonVerdict::{Better, Same, Worse};
        assert_eq!(verdicts(&[(0, 10.0), (1, 11.5)]), [Worse]);
        assert_eq!(verdicts(&[(0, 10.0), (1, 10.5)]), [Same]);
        assert_eq!(
            verdicts(&[(0, 99.0), (1, 1.0), (0, 10.0), (1, 8.0)])[0],
            Better
        );
    }

    #[test]
    fn a_clear_step_is_a_change_point() {
        let mut values = Vec::new();
        for index in 0..16_u32 {
            let wobble = f64::from(index % 3) * 0.01;
            values.push((0, 10.0 + wobble));
            values.push((1, 12.0 + wobble));
        }
        assert_eq!(verdicts(&values)[1], ComparisonVerdict::Worse);
        let equal: Vec<(usize, f64)> = values.iter().map(|&(side, _)| (side, 10.0)).collect();
        assert_eq!(verdicts(&equal)[1], ComparisonVerdict::Same);
    }

    #[test]
    fn many_requests_make_any_difference_significant() {
        let histogram = |shift: u64| {
            let mut histogram = Histogram::new();
            for us in 0..1000_u64 {
                histogram.record(1000 + us + shift, 100);
            }
            histogram
        };
        // 0.4 % in a hundred thousand requests.
        let change = t_test_change(&histogram(0), &histogram(6)).unwrap();
        assert!(change > 0.0, "{change}");
        let none = t_test_change(&histogram(0), &histogram(0)).unwrap();
        assert!(none.abs() < 1e-300);
    }
}
