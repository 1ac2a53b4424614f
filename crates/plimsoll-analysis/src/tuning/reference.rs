//! The level of the default over the time of a search, which the machine's drift moves.
//!
//! Three laws are tried: constant, a line, and interpolation between neighbouring trials of the default. That which predicts
//! best each trial that is left out is used; a constant unless another predicts clearly better, because what follows the
//! trials follows their noise as well.

use crate::stats::line::{line_through, mean};

/// Trials of the default from which a drift can be told from noise.
const TRIALS_MIN: usize = 4;
/// A drift is believed when it leaves at most this share of the squared errors of the constant.
const ERRORS_MAX: f64 = 0.8;

/// The level of the default.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ReferenceLevel {
    /// Time, s, and logarithm of the line, ascending in time.
    points: Vec<(f64, f64)>,
    law: DriftLaw,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DriftLaw {
    Constant,
    Line,
    Interpolated,
}

impl ReferenceLevel {
    /// Of trials of the default: time, s, and logarithm of the line.
    pub(super) fn of(mut points: Vec<(f64, f64)>) -> Self {
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let law = if points.len() < TRIALS_MIN {
            DriftLaw::Constant
        } else {
            best_law(&points)
        };
        Self { points, law }
    }

    /// The level at a time; `None` without a trial of the default.
    pub(super) fn at(&self, time_s: f64) -> Option<f64> {
        self.law.at(&self.points, time_s)
    }
}

fn best_law(points: &[(f64, f64)]) -> DriftLaw {
    let constant = errors(DriftLaw::Constant, points);
    let (line, interpolated) = (
        errors(DriftLaw::Line, points),
        errors(DriftLaw::Interpolated, points),
    );
    if line.min(interpolated) > ERRORS_MAX * constant {
        DriftLaw::Constant
    } else if line <= interpolated {
        DriftLaw::Line
    } else {
        DriftLaw::Interpolated
    }
}

/// Sum of the squared errors with which a law of the other points predicts each.
fn errors(law: DriftLaw, points: &[(f64, f64)]) -> f64 {
    let squared = (0..points.len()).filter_map(|left_out| {
        let mut others = points.to_vec();
        let (time_s, value) = others.remove(left_out);
        Some((value - law.at(&others, time_s)?).powi(2))
    });
    squared.sum()
}

impl DriftLaw {
    fn at(self, points: &[(f64, f64)], time_s: f64) -> Option<f64> {
        match self {
            Self::Constant => level(points),
            // Where all are of one moment, or two are left, there is no line.
            Self::Line => line_through(points)
                .map(|line| line.at(time_s))
                .or_else(|| level(points)),
            Self::Interpolated => interpolated_at(points, time_s),
        }
    }
}

fn level(points: &[(f64, f64)]) -> Option<f64> {
    let levels: Vec<f64> = points.iter().map(|point| point.1).collect();
    mean(&levels)
}

/// Between the neighbours in time, and that of the outermost beyond them.
fn interpolated_at(points: &[(f64, f64)], time_s: f64) -> Option<f64> {
    let after = points.partition_point(|point| point.0 < time_s);
    let before = after.checked_sub(1).and_then(|index| points.get(index));
    match (before, points.get(after)) {
        (Some(before), Some(after)) => {
            let share = (time_s - before.0) / (after.0 - before.0);
            Some(before.1 + share * (after.1 - before.1))
        }
        (Some(only), None) | (None, Some(only)) => Some(only.1),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::seed::Seed;
    use plimsoll_testkit::normal::standard_normal;

    use super::*;

    fn level(count: u32, law: impl Fn(f64) -> f64, noise: f64, seed: u64) -> ReferenceLevel {
        let mut random = Seed(seed).generator();
        let points = (0..count).map(|index| {
            let time_s = f64::from(index) * 300.0;
            (time_s, law(time_s) + noise * standard_normal(&mut random))
        });
        ReferenceLevel::of(points.collect())
    }

    #[test]
    fn without_a_trial_there_is_no_level() {
        assert_eq!(ReferenceLevel::of(Vec::new()).at(1.0), None);
    }

    #[test]
    fn a_steady_machine_has_mostly_a_constant_level() {
        let constant = (0..200)
            .filter(|&seed| level(8, |_| 6.0, 0.05, seed).law == DriftLaw::Constant)
            .count();
        assert!(constant >= 140, "{constant} of 200");
    }

    #[test]
    fn a_machine_that_slows_down_by_a_quarter_is_followed() {
        let truth = |time_s: f64| 6.0 - 0.29 * time_s / 2_100.0;
        let near = (0..200)
            .filter(|&seed| {
                let level = level(8, truth, 0.03, seed);
                let errors = [450.0, 1_050.0, 1_650.0]
                    .map(|time_s| (level.at(time_s).unwrap() - truth(time_s)).abs());
                errors.into_iter().fold(0.0, f64::max) < 0.06
            })
            .count();
        assert!(near >= 180, "{near} of 200");
    }

    #[test]
    fn a_lasting_step_is_followed() {
        let step = |time_s: f64| if time_s < 1_400.0 { 5.0 } else { 4.5 };
        let level = level(10, step, 0.01, 3);
        assert_eq!(level.law, DriftLaw::Interpolated);
        assert!((level.at(100.0).unwrap() - 5.0).abs() < 0.05);
        assert!((level.at(2_000.0).unwrap() - 4.5).abs() < 0.05);
    }
}
