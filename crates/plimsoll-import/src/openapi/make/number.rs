//! Numbers within the bounds of a schema.

use crate::openapi::chance::Chance;
use crate::openapi::schema::{Bound, Constraints};

/// Width of the range in which numbers are made where the schema has no bound.
const RANGE: f64 = 99.0;
/// Largest number that is exact in every reader of JSON.
const EXACT_MAX: f64 = 9_007_199_254_740_991.0;
/// Most decimals that are tried.
const DECIMALS_MAX: usize = 9;

/// A whole number, in decimal; none if the bounds leave none.
pub(super) fn integer(constraints: &Constraints<'_>, chance: &mut Chance) -> Option<String> {
    let limits = match constraints.format {
        Some("int32") => (-2_147_483_648.0, 2_147_483_647.0),
        _ => (-EXACT_MAX, EXACT_MAX),
    };
    let range = Range::of(constraints, limits);
    let step = constraints.multiple_of.as_deref().map(Step::of);
    match step {
        None => range.pick(
            Step {
                digits: 1,
                decimals: 0,
            },
            chance,
        ),
        Some(step) => {
            let step = step?;
            // Whole numbers that are multiples of 0.25 are those of 1; of 1.5, those of 3.
            let scale = ten_to(step.decimals)?;
            let whole = step.digits / greatest_common_divisor(step.digits, scale);
            let step = Step {
                digits: whole,
                decimals: 0,
            };
            range.pick(step, chance)
        }
    }
}

/// A number with few decimals, in decimal; none if the bounds leave none.
pub(super) fn number(constraints: &Constraints<'_>, chance: &mut Chance) -> Option<String> {
    let range = Range::of(constraints, (-EXACT_MAX, EXACT_MAX));
    if let Some(step) = &constraints.multiple_of {
        return range.pick(Step::of(step)?, chance);
    }
    let fine = (2..=DECIMALS_MAX).find_map(|decimals| {
        range.pick(
            Step {
                digits: 1,
                decimals,
            },
            chance,
        )
    });
    fine.or_else(|| range.middle())
}

/// A step between numbers: `digits` · 10^-`decimals`.
#[derive(Clone, Copy)]
struct Step {
    digits: i128,
    decimals: usize,
}

impl Step {
    /// Of a decimal number above 0.
    fn of(text: &str) -> Option<Self> {
        // `1e-2` is read as a number and written out.
        let plain = if text.contains(['e', 'E']) {
            format!("{}", text.parse::<f64>().ok()?)
        } else {
            text.trim_start_matches('+').to_owned()
        };
        let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
        let fraction = fraction.trim_end_matches('0');
        let digits = format!("{whole}{fraction}").parse::<i128>().ok()?;
        let is_fit = digits > 0 && fraction.len() <= 2 * DECIMALS_MAX;
        is_fit.then_some(Self {
            digits,
            decimals: fraction.len(),
        })
    }
}

/// A range of numbers.
#[derive(Clone, Copy)]
struct Range {
    min: Bound,
    max: Bound,
}

impl Range {
    fn of(constraints: &Constraints<'_>, limits: (f64, f64)) -> Self {
        let closed = |value: f64| Bound {
            value: value.clamp(limits.0, limits.1),
            is_exclusive: false,
        };
        let step = constraints
            .multiple_of
            .as_ref()
            .and_then(|step| step.parse::<f64>().ok())
            .unwrap_or(1.0);
        let width = RANGE * step.max(1.0);
        let (min, max) = match (constraints.min, constraints.max) {
            (None, None) => (closed(1.0), closed(1.0 + width)),
            (Some(min), None) => (min, closed(min.value + width)),
            (None, Some(max)) if max.value > 1.0 => (closed(1.0), max),
            (None, Some(max)) => (closed(max.value - width), max),
            (Some(min), Some(max)) => (min, max),
        };
        let narrow = |bound: Bound| {
            if (limits.0..=limits.1).contains(&bound.value) {
                bound
            } else {
                closed(bound.value)
            }
        };
        Self {
            min: narrow(min),
            max: narrow(max),
        }
    }

    /// A multiple of a step.
    fn pick(self, step: Step, chance: &mut Chance) -> Option<String> {
        let scale = ten_to(step.decimals)?;
        let in_steps = |value: f64| {
            let scaled = scaled(value, step.decimals)?;
            Some((
                scaled.0.div_euclid(step.digits),
                scaled.0.rem_euclid(step.digits) == 0 && scaled.1,
            ))
        };
        let (low, is_on_low) = in_steps(self.min.value)?;
        let (high, is_on_high) = in_steps(self.max.value)?;
        let low = low + i128::from(!is_on_low || self.min.is_exclusive);
        let high = high - i128::from(is_on_high && self.max.is_exclusive);
        (low <= high).then(|| {
            decimal(
                chance.between(low, high) * step.digits,
                scale,
                step.decimals,
            )
        })
    }

    /// The middle, of a range without any number of few decimals.
    fn middle(self) -> Option<String> {
        let middle = f64::midpoint(self.min.value, self.max.value);
        let above =
            |bound: Bound| middle > bound.value || !(middle < bound.value || bound.is_exclusive);
        let below =
            |bound: Bound| middle < bound.value || !(middle > bound.value || bound.is_exclusive);
        (above(self.min) && below(self.max)).then(|| format!("{middle}"))
    }
}

/// A number in units of 10^-`decimals`, rounded down, and whether it is exact.
fn scaled(value: f64, decimals: usize) -> Option<(i128, bool)> {
    // The shortest decimal notation is what the author wrote.
    let text = format!("{value}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let kept: String = fraction
        .chars()
        .chain(std::iter::repeat('0'))
        .take(decimals)
        .collect();
    let is_exact = fraction.chars().skip(decimals).all(|digit| digit == '0');
    let towards_zero = format!("{whole}{kept}").parse::<i128>().ok()?;
    let is_lower = !is_exact && text.starts_with('-');
    Some((towards_zero - i128::from(is_lower), is_exact))
}

fn ten_to(decimals: usize) -> Option<i128> {
    10_i128.checked_pow(u32::try_from(decimals).ok()?)
}

fn greatest_common_divisor(first: i128, other: i128) -> i128 {
    if other == 0 {
        return first.max(1);
    }
    greatest_common_divisor(other, first % other)
}

/// `digits` / `scale` in decimal, without zeros at the end.
fn decimal(digits: i128, scale: i128, decimals: usize) -> String {
    let sign = if digits < 0 { "-" } else { "" };
    let digits = digits.unsigned_abs();
    let scale = scale.unsigned_abs().max(1);
    let (whole, rest) = (digits / scale, digits % scale);
    let fraction = format!("{rest:0decimals$}");
    let fraction = fraction.trim_end_matches('0');
    if rest == 0 || decimals == 0 {
        return format!("{sign}{whole}");
    }
    format!("{sign}{whole}.{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(value: f64, is_exclusive: bool) -> Bound {
        Bound {
            value,
            is_exclusive,
        }
    }

    #[track_caller]
    fn check(min: Bound, max: Bound, step: Option<&str>, whole: &str, any: &str) {
        let constraints = Constraints {
            min: Some(min),
            max: Some(max),
            multiple_of: step.map(str::to_owned),
            ..Constraints::default()
        };
        let mut chance = Chance::new(1, "x");
        let text = |made: Option<String>| made.unwrap_or_default();
        assert_eq!(text(integer(&constraints, &mut chance)), whole);
        assert_eq!(text(number(&constraints, &mut chance)), any);
    }

    #[test]
    fn narrow_bounds_leave_one_number() {
        check(bound(3.0, false), bound(3.0, false), None, "3", "3");
        check(bound(0.5, false), bound(0.5, false), None, "", "0.5");
        check(bound(2.0, true), bound(4.0, true), Some("1"), "3", "3");
        check(bound(-4.0, true), bound(-2.0, true), Some("1"), "-3", "-3");
        check(bound(0.1, true), bound(0.3, true), Some("0.1"), "", "0.2");
        check(bound(2.0, true), bound(4.0, false), Some("1.5"), "3", "3");
        check(bound(-1.0, true), bound(0.5, false), Some("2"), "0", "0");
        check(bound(5.0, false), bound(4.0, false), None, "", "");
        check(
            bound(1e-12, false),
            bound(1e-12, false),
            None,
            "",
            "0.000000000001",
        );
    }

    #[test]
    fn steps_are_read_as_written() {
        let step = |text| Step::of(text).map(|step| (step.digits, step.decimals));
        assert_eq!(step("0.10"), Some((1, 1)));
        assert_eq!(step("1e-2"), Some((1, 2)));
        assert_eq!(step("25"), Some((25, 0)));
        assert_eq!(step("0"), None);
    }
}
