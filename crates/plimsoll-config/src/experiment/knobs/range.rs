//! Levels of a range, among them its ends and the level that stands today.

use std::f64::consts::SQRT_2;

use super::KnobScale;
use crate::Problem;
use crate::experiment::axes::geometric;

/// Levels of a range, unless the file says how many.
const LEVELS: u32 = 8;
/// Ratio of the ends of a range to the default, where there is no range.
const AROUND: f64 = 4.0;

/// The lowest and the highest level, and their unit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KnobRange {
    low: f64,
    high: f64,
    unit: String,
    scale: KnobScale,
}

impl KnobRange {
    /// `1..64`.
    pub(super) fn of(text: &str, scale: KnobScale) -> Result<Self, Problem> {
        let problem = |message, valid| Problem::new(text, 0..text.len(), message, valid);
        let (low, high, unit) = geometric::ends(text)?;
        if low >= high {
            let message = "the range has a single level";
            return Err(problem(message, "two different ends, such as 1..64"));
        }
        if scale == KnobScale::Geometric && low <= 0.0 {
            let message = "a geometric range begins above 0";
            return Err(problem(message, "1..64, or `scale: linear`"));
        }
        let unit = unit.to_owned();
        Ok(Self {
            low,
            high,
            unit,
            scale,
        })
    }

    /// From a quarter of a default to four times of it.
    pub(super) fn around(default: &str, scale: KnobScale) -> Result<Self, Problem> {
        let found = geometric::with_unit(default).filter(|(number, _)| *number > 0.0);
        let Some((number, unit)) = found else {
            let message =
                format!("`{default}` is not a number above 0, so no range follows from it");
            let valid = "`range` or `values` beside `default`";
            return Err(Problem::new(default, 0..default.len(), message, valid));
        };
        let low = number / AROUND;
        let low = if is_whole(number) {
            low.round().max(1.0)
        } else {
            short(low)
        };
        Ok(Self {
            low,
            high: number * AROUND,
            unit: unit.to_owned(),
            scale,
        })
    }

    /// The lowest level.
    pub(super) fn low(&self) -> f64 {
        self.low
    }

    /// The number of the default.
    pub(super) fn number(&self, text: &str) -> Result<f64, Problem> {
        let [low, high] = [self.low, self.high].map(|end| self.text(end));
        let valid = format!("a number from {low} to {high}");
        let problem = |message: String| Problem::new(text, 0..text.len(), message, valid.as_str());
        let found = geometric::with_unit(text);
        let (number, unit) = found.ok_or_else(|| problem(format!("`{text}` is not a number")))?;
        if unit != self.unit {
            return Err(problem(format!("`{text}` has another unit than the range")));
        }
        if !(self.low..=self.high).contains(&number) {
            return Err(problem(format!("`{text}` is out of range")));
        }
        Ok(number)
    }

    /// The levels with a default, and the index of the default; at most `limit` of them. Without a limit, those of a
    /// geometric range double where eight levels are enough for it.
    pub(super) fn levels(&self, default: f64, limit: Option<u32>) -> (Vec<String>, usize) {
        let doubled = match (self.scale, limit) {
            (KnobScale::Geometric, None) => self.doubled(default),
            (KnobScale::Geometric | KnobScale::Linear, _) => None,
        };
        let levels = doubled.unwrap_or_else(|| self.spaced(default, limit.unwrap_or(LEVELS)));
        let index = levels.iter().filter(|level| **level < default).count();
        let texts = levels.into_iter().map(|level| self.text(level));
        (texts.collect(), index)
    }

    /// The default halved and doubled within the range, and the ends; `None` for too many levels.
    fn doubled(&self, default: f64) -> Option<Vec<f64>> {
        let mut levels = Vec::new();
        if self.low < default {
            levels.push(self.low);
        }
        let below = self.halves(default);
        levels.extend(below.rev());
        levels.push(default);
        let above = std::iter::successors(Some(2.0 * default), |level| Some(2.0 * level));
        levels.extend(above.take_while(|level| level * SQRT_2 < self.high));
        if default < self.high {
            levels.push(self.high);
        }
        (levels.len() <= LEVELS as usize).then_some(levels)
    }

    /// Halves of the default above the low end, descending.
    fn halves(&self, default: f64) -> impl DoubleEndedIterator<Item = f64> {
        let is_whole = self.is_whole(default);
        let halves = std::iter::successors(Some(default / 2.0), |level| Some(level / 2.0));
        let levels: Vec<f64> = halves
            .take_while(|level| *level > self.low * SQRT_2)
            .map(|level| {
                if is_whole {
                    level.round()
                } else {
                    short(level)
                }
            })
            .filter(|level| *level > self.low)
            .collect();
        levels.into_iter()
    }

    /// `limit` levels at equal distances below and above the default; fewer where they are not different whole numbers.
    fn spaced(&self, default: f64, limit: u32) -> Vec<f64> {
        let steps = limit.saturating_sub(1).max(1);
        let [low, middle, high] = [self.low, default, self.high].map(|level| self.position(level));
        let share = (middle - low) / (high - low);
        let below = if default <= self.low {
            0
        } else if default >= self.high {
            steps
        } else {
            let distance = |count: u32| (f64::from(count) / f64::from(steps) - share).abs();
            let counts = 1..steps.max(2);
            let nearest = counts.min_by(|a, b| distance(*a).total_cmp(&distance(*b)));
            nearest.unwrap_or(1)
        };
        let mut levels = vec![self.low];
        levels.extend(self.between(self.low, default, below, default));
        levels.push(default);
        levels.extend(self.between(default, self.high, steps - below.min(steps), default));
        levels.push(self.high);
        levels.dedup();
        levels
    }

    /// The levels that divide a section into `steps`, without its ends.
    fn between(&self, from: f64, to: f64, steps: u32, default: f64) -> Vec<f64> {
        let is_whole = self.is_whole(default);
        let (first, last) = (self.position(from), self.position(to));
        let level = |step: u32| {
            let position = first + (last - first) * f64::from(step) / f64::from(steps);
            let level = match self.scale {
                KnobScale::Geometric => position.exp(),
                KnobScale::Linear => position,
            };
            if is_whole {
                level.round()
            } else {
                short(level)
            }
        };
        let levels = (1..steps).map(level);
        levels
            .filter(|level| from < *level && *level < to)
            .collect()
    }

    fn position(&self, level: f64) -> f64 {
        match self.scale {
            KnobScale::Geometric => level.ln(),
            KnobScale::Linear => level,
        }
    }

    fn is_whole(&self, default: f64) -> bool {
        [self.low, self.high, default].into_iter().all(is_whole)
    }

    fn text(&self, level: f64) -> String {
        format!("{level}{}", self.unit)
    }
}

fn is_whole(number: f64) -> bool {
    number.fract() == 0.0
}

/// A number with three significant digits.
fn short(number: f64) -> f64 {
    format!("{number:.2e}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The levels of a range with a default, as a list in which the default is marked.
    #[track_caller]
    fn check(range: &str, default: &str, scale: KnobScale, limit: Option<u32>, expected: &str) {
        let range = KnobRange::of(range, scale).unwrap();
        let default = range.number(default).unwrap();
        let (mut levels, index) = range.levels(default, limit);
        levels[index] = format!("[{}]", levels[index]);
        assert_eq!(levels.join(" "), expected);
    }

    #[test]
    fn levels_double_around_the_default() {
        let check = |range: &str, default: &str, expected: &str| {
            check(range, default, KnobScale::Geometric, None, expected);
        };
        check("1..64", "4", "1 2 [4] 8 16 32 64");
        check("1..64", "1", "[1] 2 4 8 16 32 64");
        check("1..64", "64", "1 2 4 8 16 32 [64]");
        check("1GiB..16GiB", "4GiB", "1GiB 2GiB [4GiB] 8GiB 16GiB");
        // Ends that are not met, and odd numbers.
        check("3..100", "10", "3 5 [10] 20 40 100");
        check("0.25..2", "0.5", "0.25 [0.5] 1 2");
        check("5..6", "5", "[5] 6");
        // Doubling needs more than eight levels: ratios are equal below and above the default.
        check("1..1024", "16", "1 3 6 [16] 45 128 362 1024");
    }

    #[test]
    fn levels_are_as_many_as_the_file_says() {
        check("1..64", "4", KnobScale::Geometric, Some(4), "1 [4] 16 64");
        check("1..64", "4", KnobScale::Geometric, Some(3), "1 [4] 64");
        check(
            "0..70",
            "20",
            KnobScale::Linear,
            None,
            "0 10 [20] 30 40 50 60 70",
        );
        check("0..2", "1", KnobScale::Linear, None, "0 [1] 2");
        check("0..1", "0", KnobScale::Linear, Some(5), "[0] 1");
        check("0.5..1", "0.5", KnobScale::Linear, Some(3), "[0.5] 0.75 1");
    }

    #[test]
    fn a_default_has_a_range_of_its_own() {
        let around = |default: &str| {
            let range = KnobRange::around(default, KnobScale::Geometric).unwrap();
            let (levels, index) = range.levels(range.number(default).unwrap(), None);
            (levels.join(" "), index)
        };
        assert_eq!(around("8"), ("2 4 8 16 32".to_owned(), 2));
        assert_eq!(around("1"), ("1 2 4".to_owned(), 0));
        assert_eq!(
            around("128MB"),
            ("32MB 64MB 128MB 256MB 512MB".to_owned(), 2)
        );
        assert_eq!(around("0.2"), ("0.05 0.1 0.2 0.4 0.8".to_owned(), 2));
        for word in ["off", "0", "-1"] {
            assert!(KnobRange::around(word, KnobScale::Geometric).is_err());
        }
    }

    proptest! {
        /// Levels ascend from end to end, with the default among them.
        #[test]
        fn any_range_has_its_ends_and_the_default(
            low in 1_u32..1000,
            length in 1_u32..100_000,
            share in 0.0_f64..1.0,
            limit in prop::option::of(3_u32..17),
            is_linear in any::<bool>(),
        ) {
            let (low, length) = (f64::from(low), f64::from(length));
            let high = low + length;
            let scale = if is_linear { KnobScale::Linear } else { KnobScale::Geometric };
            let range = KnobRange::of(&format!("{low}..{high}"), scale).unwrap();
            let default = (low + share * length).round();
            let (levels, index) = range.levels(default, limit);
            let numbers: Vec<f64> = levels.iter().map(|level| level.parse().unwrap()).collect();
            prop_assert!((2..=16).contains(&levels.len()), "{levels:?}");
            prop_assert!(levels.len() <= limit.map_or(8, |limit| limit as usize));
            prop_assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{levels:?}");
            prop_assert_eq!(&levels[0], &low.to_string());
            prop_assert_eq!(&levels[levels.len() - 1], &high.to_string());
            prop_assert_eq!(&levels[index], &default.to_string());
        }
    }
}
