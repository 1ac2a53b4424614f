//! Drift of the machine during an experiment: measured by the reference trials, and taken out.
//!
//! A value is adjusted by the reference at its time, interpolated between the neighbouring reference trials and constant
//! beyond the outermost: y' = y − (r(t) − r̄), on the scale of the arithmetic. Effects are differences within a block, so
//! the noise of the reference mostly cancels in them. A lone disturbed reference would still tilt both blocks beside it: the
//! references are smoothed by running medians of three, which leave a steady drift and a lasting step as they are.

use super::trial::{ExperimentTrial, Scale};
use crate::stats::trend::{mann_kendall_correlated, theil_sen};

/// Below this p-value the references have a trend.
const P_MAX: f64 = 0.05;

/// The level of the reference over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Drift {
    /// Time and value of the valid reference trials, ascending in time.
    points: Vec<(f64, f64)>,
    /// The same values by running medians of three.
    smooth: Vec<f64>,
    mean: f64,
    scale: Scale,
}

impl Drift {
    /// Of the reference trials among `trials`.
    pub fn of(trials: &[ExperimentTrial], metric: &str, scale: Scale) -> Self {
        let mut points: Vec<(f64, f64)> = trials
            .iter()
            .filter(|trial| trial.is_reference())
            .filter_map(|trial| Some((trial.began_s(), trial.value(metric, scale)?)))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let values: Vec<f64> = points.iter().map(|point| point.1).collect();
        let smooth = running_medians(&values);
        Self {
            mean: smooth.iter().sum::<f64>() / (smooth.len().max(1)) as f64,
            points,
            smooth,
            scale,
        }
    }

    /// Valid reference trials. With fewer than two nothing is taken out.
    pub fn references(&self) -> usize {
        self.points.len()
    }

    /// How far the reference is above its mean at a time.
    pub fn at(&self, time_s: f64) -> f64 {
        if self.points.len() < 2 {
            return 0.0;
        }
        let after = self.points.partition_point(|point| point.0 < time_s);
        let smooth = |index: usize| Some((self.points.get(index)?.0, *self.smooth.get(index)?));
        let value = match (after.checked_sub(1).and_then(smooth), smooth(after)) {
            (Some(before), Some(after)) if after.0 > before.0 => {
                let share = (time_s - before.0) / (after.0 - before.0);
                before.1 + share * (after.1 - before.1)
            }
            (_, Some(after)) => after.1,
            (Some(before), None) => before.1,
            (None, None) => self.mean,
        };
        value - self.mean
    }

    /// The value of a trial without the drift.
    pub fn adjusted(&self, trial: &ExperimentTrial, metric: &str) -> Option<f64> {
        Some(trial.value(metric, self.scale)? - self.at(trial.began_s()))
    }

    /// The change from the first to the last reference trial along the line of Theil and Sen, as a ratio or a difference,
    /// and the p-value of a trend by Mann and Kendall. `None` with fewer than four references.
    pub fn trend(&self) -> Option<DriftTrend> {
        if self.points.len() < 4 {
            return None;
        }
        let values: Vec<f64> = self.points.iter().map(|point| point.1).collect();
        let line = theil_sen(&values)?;
        Some(DriftTrend {
            change: self
                .scale
                .backward(line.slope * (values.len() as f64 - 1.0)),
            p: mann_kendall_correlated(&values).p,
        })
    }
}

/// Medians of each value and its neighbours, the ends by Tukey's rule (Exploratory Data Analysis, 1977, chapter 7).
fn running_medians(values: &[f64]) -> Vec<f64> {
    let count = values.len();
    if count < 3 {
        return values.to_vec();
    }
    let mut smooth = values.to_vec();
    for (index, triple) in values.windows(3).enumerate() {
        smooth[index + 1] = middle(triple[0], triple[1], triple[2]);
    }
    if count > 3 {
        let (first, last) = (
            (smooth[1], smooth[2]),
            (smooth[count - 2], smooth[count - 3]),
        );
        smooth[0] = middle(values[0], first.0, 3.0 * first.0 - 2.0 * first.1);
        smooth[count - 1] = middle(values[count - 1], last.0, 3.0 * last.0 - 2.0 * last.1);
    }
    smooth
}

fn middle(a: f64, b: f64, c: f64) -> f64 {
    a.min(b).max(a.max(b).min(c))
}

/// A trend of the reference trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriftTrend {
    /// From first to last: a ratio or a difference.
    pub change: f64,
    /// Two-sided p-value of no trend.
    pub p: f64,
}

impl DriftTrend {
    /// Whether it is more than chance.
    pub fn is_shown(self) -> bool {
        self.p < P_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::Role;
    use super::super::trial::tests::measured;
    use super::*;

    fn references(level: impl Fn(f64) -> f64) -> Vec<ExperimentTrial> {
        (0..8_u32)
            .map(|block| {
                let time_s = 100.0 * f64::from(block);
                measured(block, time_s, Role::Reference, level(time_s))
            })
            .collect()
    }

    #[test]
    fn exponential_drift_is_taken_out_whole() {
        let level = |time_s: f64| 10.0 * (time_s / 1000.0).exp();
        let drift = Drift::of(&references(level), "m", Scale::Ratio);
        assert_eq!(drift.references(), 8);
        let adjusted: Vec<f64> = [0.0, 130.0, 250.0, 690.0]
            .iter()
            .map(|&time_s| {
                let trial = measured(0, time_s, Role::Cell(vec![0]), 2.0 * level(time_s));
                drift.adjusted(&trial, "m").unwrap()
            })
            .collect();
        assert!(
            adjusted
                .iter()
                .all(|value| (value - adjusted[0]).abs() < 1e-9),
            "{adjusted:?}"
        );
    }

    #[test]
    fn a_lone_disturbed_reference_tilts_nothing() {
        for disturbed in [0, 3, 7] {
            let level = |time_s: f64| {
                if (time_s / 100.0 - f64::from(disturbed)).abs() < 0.5 {
                    25.0
                } else {
                    10.0
                }
            };
            let drift = Drift::of(&references(level), "m", Scale::Ratio);
            for time_s in [10.0, 250.0, 310.0, 390.0, 690.0] {
                assert!(drift.at(time_s).abs() < 1e-9, "{disturbed} at {time_s}");
            }
        }
    }

    #[test]
    fn a_lasting_step_is_taken_out() {
        let level = |time_s: f64| if time_s < 350.0 { 10.0 } else { 20.0 };
        let drift = Drift::of(&references(level), "m", Scale::Ratio);
        assert!((drift.at(500.0) - drift.at(200.0) - 2.0_f64.ln()).abs() < 1e-9);
    }

    #[test]
    fn a_trend_of_the_references_is_shown() {
        let trend_of = |slope: f64| {
            let level = move |time_s: f64| {
                let wobble = if time_s % 200.0 < 50.0 { 0.01 } else { -0.01 };
                (slope * time_s / 1000.0 + wobble).exp()
            };
            let drift = Drift::of(&references(level), "m", Scale::Ratio);
            drift.trend().unwrap()
        };
        let trend = trend_of(1.0);
        assert!(trend.is_shown(), "{trend:?}");
        assert!(
            (trend.change / 0.7_f64.exp() - 1.0).abs() < 0.05,
            "{trend:?}"
        );
        assert!(!trend_of(0.0).is_shown());
    }

    #[test]
    fn beyond_the_references_the_nearest_holds() {
        let drift = Drift::of(&references(|time_s| 1.0 + time_s), "m", Scale::Difference);
        assert!((drift.at(-50.0) - drift.at(0.0)).abs() < 1e-12);
        assert!((drift.at(5000.0) - drift.at(700.0)).abs() < 1e-12);
    }

    #[test]
    fn without_references_nothing_is_taken_out() {
        let drift = Drift::of(&references(|_| 0.0)[..0], "m", Scale::Ratio);
        assert!(drift.at(10.0).abs() < 1e-12);
        assert_eq!(drift.trend(), None);
        // One reference says nothing of drift.
        let drift = Drift::of(&references(|_| 4.0)[..1], "m", Scale::Ratio);
        assert!(drift.at(10.0).abs() < 1e-12);
    }
}
