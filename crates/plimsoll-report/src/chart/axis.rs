//! Maps values to positions on an axis, with round ticks.

/// An axis: values from `min` to `max`, in even steps or in even factors.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    min: f64,
    max: f64,
    logarithmic: bool,
    ticks: Vec<f64>,
}

/// Range of values above which an axis is logarithmic.
const LOGARITHMIC_FROM: f64 = 30.0;
/// Share of the highest value that the lowest must have for an axis that does not begin at zero.
const NEAR_FROM: f64 = 0.5;
/// Smallest range of such an axis, as a share of the highest value.
const NEAR_REACH: f64 = 0.02;

impl Axis {
    /// From zero to above the highest value, in even steps.
    pub(crate) fn linear_from_zero(values: impl IntoIterator<Item = f64>) -> Self {
        Self::in_steps(values, 4.0)
    }

    /// From zero to above the highest value, in at most so many even steps.
    fn in_steps(values: impl IntoIterator<Item = f64>, steps_max: f64) -> Self {
        let max = values
            .into_iter()
            .filter(|value| value.is_finite())
            .fold(0.0, f64::max);
        let max = if max > 0.0 { max } else { 1.0 };
        let step = nice_step(max / steps_max);
        let steps = (max / step - 1e-9).ceil();
        Self {
            min: 0.0,
            max: step * steps,
            logarithmic: false,
            ticks: ticks(steps, |index| step * index),
        }
    }

    /// From zero to a count, in whole steps.
    pub(crate) fn whole_from_zero(max: f64) -> Self {
        let step = nice_step(max.max(1.0) / 4.0).max(1.0);
        let steps = (max.max(1.0) / step - 1e-9).ceil();
        Self {
            min: 0.0,
            max: step * steps,
            logarithmic: false,
            ticks: ticks(steps, |index| step * index),
        }
    }

    /// From zero to above the highest value, in even steps of KiB, MiB or GiB.
    pub(crate) fn linear_bytes_from_zero(values: impl IntoIterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.into_iter().collect();
        let max = values.iter().copied().fold(1.0, f64::max);
        let unit = 1024_f64.powf(max.log(1024.0).floor());
        let mut axis = Self::linear_from_zero(values.into_iter().map(|value| value / unit));
        axis.max *= unit;
        for tick in &mut axis.ticks {
            *tick *= unit;
        }
        axis
    }

    /// Near the values where they vary little, so that their differences show; from zero where they vary much. Ticks are
    /// round in multiples of `unit`.
    pub(crate) fn linear_near(values: impl IntoIterator<Item = f64>, unit: f64) -> Self {
        let values: Vec<f64> = values
            .into_iter()
            .filter(|value| value.is_finite())
            .map(|value| value / unit)
            .collect();
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(0.0, f64::max);
        let mut axis = if low < NEAR_FROM * high || high <= 0.0 {
            Self::linear_from_zero(values)
        } else {
            // Noise of a thousandth must not look like a change.
            let step = nice_step((high - low).max(NEAR_REACH * high) / 4.0);
            let (first, last) = ((low / step).floor(), (high / step).ceil());
            let steps = (last - first).max(1.0);
            Self {
                min: first * step,
                max: (first + steps) * step,
                logarithmic: false,
                ticks: ticks(steps, |index| (first + index) * step),
            }
        };
        axis.min *= unit;
        axis.max *= unit;
        for tick in &mut axis.ticks {
            *tick *= unit;
        }
        axis
    }

    /// From zero to `max`, a natural limit such as all of the CPU.
    pub(crate) fn linear_up_to(max: f64) -> Self {
        Self {
            min: 0.0,
            max,
            logarithmic: false,
            ticks: ticks(4.0, |index| max / 4.0 * index),
        }
    }

    /// Even steps, or even factors where the values span a range that needs them.
    pub(crate) fn linear_or_log(values: impl IntoIterator<Item = f64>) -> Self {
        let values: Vec<f64> = values
            .into_iter()
            .filter(|value| value.is_finite() && *value > 0.0)
            .collect();
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(0.0, f64::max);
        if max / min < LOGARITHMIC_FROM || values.is_empty() {
            return Self::linear_from_zero(values);
        }
        let decades = (max / min).log10();
        let factors: &[f64] = if decades > 3.5 {
            &[1.0]
        } else {
            &[1.0, 2.0, 5.0]
        };
        let candidates = (-9..=12).flat_map(|power| {
            factors
                .iter()
                .map(move |factor| factor * 10_f64.powi(power))
        });
        let candidates: Vec<f64> = candidates.collect();
        let first = candidates
            .iter()
            .rposition(|&tick| tick <= min * 1.000_1)
            .unwrap_or(0);
        let last = candidates.iter().position(|&tick| tick >= max * 0.999_9);
        let last = last.unwrap_or(candidates.len() - 1);
        let ticks = candidates[first..=last].to_vec();
        Self {
            min: ticks[0],
            max: ticks[ticks.len() - 1],
            logarithmic: true,
            ticks,
        }
    }

    /// Rates: from zero, so that distances are true, unless they span several powers of ten.
    pub(crate) fn linear_or_log_rates(values: impl IntoIterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.into_iter().filter(|value| *value > 0.0).collect();
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(0.0, f64::max);
        if max / min < 200.0 {
            Self::in_steps(values, 8.0)
        } else {
            Self::linear_or_log(values)
        }
    }

    /// Where a value lies, 0 at the start of the axis and 1 at its end; what lies beyond is put at the end.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let share = if self.logarithmic {
            (value.max(f64::MIN_POSITIVE) / self.min).ln() / (self.max / self.min).ln()
        } else {
            (value - self.min) / (self.max - self.min)
        };
        share.clamp(0.0, 1.0)
    }

    /// Whether it has even factors instead of even steps.
    pub(crate) fn is_logarithmic(&self) -> bool {
        self.logarithmic
    }

    /// Values with a label.
    pub(crate) fn ticks(&self) -> &[f64] {
        &self.ticks
    }
}

fn ticks(steps: f64, tick: impl Fn(f64) -> f64) -> Vec<f64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an axis has fewer than ten steps"
    )]
    let steps = steps as u32;
    (0..=steps).map(|index| tick(f64::from(index))).collect()
}

/// The smallest of 1, 2, 5 × 10ⁿ that is at least `step`.
fn nice_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|factor| factor * power >= step * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// Seconds between ticks of a time axis so that there are at most eight.
pub(crate) fn time_step(seconds: f64) -> u32 {
    const STEPS_S: [u32; 15] = [
        1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400,
    ];
    let fits = |step: &u32| seconds / f64::from(*step) <= 8.0;
    STEPS_S.into_iter().find(fits).unwrap_or(86_400)
}

/// A moment of run time: `0:45`, `12:30`, `1:02:00`.
pub(crate) fn clock(second: u32) -> String {
    let (hours, minutes, seconds) = (second / 3600, second / 60 % 60, second % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn even_steps_are_those_that_people_choose() {
        assert_eq!(
            Axis::linear_from_zero([730.0]).ticks(),
            [0.0, 200.0, 400.0, 600.0, 800.0]
        );
        assert_eq!(Axis::linear_from_zero([1.0]).ticks().len(), 3);
        assert_eq!(Axis::linear_from_zero([]).ticks().last(), Some(&1.0));
    }

    #[test]
    fn a_wide_range_goes_in_factors() {
        let axis = Axis::linear_or_log([1.3, 2900.0]);
        assert!(axis.logarithmic);
        assert_eq!(
            (axis.ticks()[0], *axis.ticks().last().unwrap()),
            (1.0, 5000.0)
        );
        assert!((axis.place(1.0)).abs() < 1e-9 && (axis.place(5000.0) - 1.0).abs() < 1e-9);
        assert!(!Axis::linear_or_log([100.0, 800.0]).logarithmic);
    }

    #[test]
    fn an_axis_is_near_values_that_vary_little() {
        let ticks = |values: [f64; 2], unit| Axis::linear_near(values, unit).ticks().to_vec();
        assert_eq!(
            ticks([118.0, 136.0], 1.0),
            [115.0, 120.0, 125.0, 130.0, 135.0, 140.0]
        );
        assert_eq!(ticks([20.0, 136.0], 1.0).first(), Some(&0.0));
        // A range of two per cent at least.
        assert_eq!(ticks([300.0, 300.0], 1.0), [300.0, 302.0]);
        assert_eq!(ticks([0.0, 0.0], 1.0), [0.0, 0.5, 1.0]);
        assert_eq!(Axis::whole_from_zero(3.0).ticks(), [0.0, 1.0, 2.0, 3.0]);
        let mib = 1024.0 * 1024.0;
        let memory = ticks([395.0 * mib, 438.0 * mib], mib);
        assert_eq!((memory[0] / mib, memory.len()), (380.0, 4));
    }

    #[test]
    fn moments_read_as_on_a_clock() {
        assert_eq!([45, 750, 3720].map(clock), ["0:45", "12:30", "1:02:00"]);
    }

    proptest! {
        #[test]
        fn every_value_has_a_place_between_ascending_ticks(values in prop::collection::vec(1e-3_f64..1e9, 1..20)) {
            for axis in [
                Axis::linear_or_log(values.clone()),
                Axis::linear_from_zero(values.clone()),
                Axis::linear_near(values.clone(), 1.0),
            ] {
                prop_assert!(axis.ticks().is_sorted() && (2..=14).contains(&axis.ticks().len()));
                let highest = values.iter().copied().fold(0.0, f64::max);
                prop_assert!(*axis.ticks().last().unwrap() >= highest * 0.999);
                for &value in &values {
                    prop_assert!((0.0..=1.0).contains(&axis.place(value)));
                }
            }
        }
    }
}
