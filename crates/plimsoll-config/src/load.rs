//! Open loads from the command line: constant, ramp, steps, phases.

use std::time::Duration;

use plimsoll_model::schedule::LoadPhase;

use crate::{Problem, units};

const VALID: &str = "a rate or a range of rates, such as 300/s or 50/s..1500/s";
/// Maximum phases of one load.
pub const PHASES_MAX: usize = 10_000;

/// A rate, or a range of rates: `300/s`, `50/s..1500/s`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateRange {
    /// First rate, 1/s.
    pub from: f64,
    /// Last rate, 1/s; the same as the first for a constant rate.
    pub to: f64,
}

/// Reads `300/s` or `50/s..1500/s`.
///
/// # Errors
/// When a rate cannot be read, or both ends are zero.
pub fn rate_range(text: &str) -> Result<RateRange, Problem> {
    let range = match text.split_once("..") {
        None => {
            let rate = units::rate(text)?;
            RateRange {
                from: rate,
                to: rate,
            }
        }
        Some((from, to)) => RateRange {
            from: units::rate(from.trim()).map_err(|problem| problem.within(text, 0))?,
            to: units::rate(to.trim()).map_err(|problem| {
                let at = text.len() - to.trim_start().len();
                problem.within(text, at)
            })?,
        },
    };
    if range.from <= 0.0 && range.to <= 0.0 {
        return Err(Problem::new(
            text,
            0..text.len(),
            "the load sends nothing",
            VALID,
        ));
    }
    Ok(range)
}

/// Reads one phase: `300/s:10s` or `0/s..300/s:30s`.
///
/// # Errors
/// When the rate or the duration is invalid.
pub fn phase(text: &str) -> Result<LoadPhase, Problem> {
    let Some((rates, lasting)) = text.rsplit_once(':') else {
        let message = "the duration is missing";
        let valid = "a rate, a colon and a duration, such as 300/s:10s or 0/s..300/s:30s";
        return Err(Problem::new(text, text.len()..text.len(), message, valid));
    };
    let at = text.len() - lasting.len();
    let rates = match rates.trim() {
        // A pause is a phase without arrivals.
        "0" | "0/s" => RateRange { from: 0.0, to: 0.0 },
        rates => rate_range(rates).map_err(|problem| problem.within(text, 0))?,
    };
    let lasting =
        units::duration_above_zero(lasting).map_err(|problem| problem.within(text, at))?;
    Ok(LoadPhase::ramp(rates.from, rates.to, lasting))
}

/// Steps from one rate to another, each held for `every`.
///
/// # Errors
/// When there would be more than [`PHASES_MAX`] steps.
pub fn steps(
    text: &str,
    range: RateRange,
    step: f64,
    every: Duration,
) -> Result<Vec<LoadPhase>, Problem> {
    let count = ((range.to - range.from).abs() / step).floor() + 1.0;
    if count > PHASES_MAX as f64 {
        let message = "the ramp has too many steps";
        return Err(Problem::new(
            text,
            0..text.len(),
            message,
            "at most 10,000 steps; use a larger --step",
        ));
    }
    let direction = if range.to < range.from { -step } else { step };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 1 and PHASES_MAX by the check above"
    )]
    let count = count as u32;
    Ok((0..count)
        .map(|index| LoadPhase::constant(range.from + f64::from(index) * direction, every))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN: Duration = Duration::from_secs(10);

    #[test]
    fn the_articles_sweep() {
        let range = rate_range("50/s..1500/s").unwrap();
        let phases = steps("", range, 50.0, TEN).unwrap();
        assert_eq!(phases.len(), 30);
        assert_eq!(phases[29], LoadPhase::constant(1500.0, TEN));
    }

    #[test]
    fn steps_go_down_too() {
        let phases = steps(
            "",
            RateRange {
                from: 100.0,
                to: 50.0,
            },
            25.0,
            TEN,
        )
        .unwrap();
        assert_eq!(
            phases.iter().map(|phase| phase.from).collect::<Vec<_>>(),
            [100.0, 75.0, 50.0]
        );
    }

    #[test]
    fn phases_ramp_and_pause() {
        assert_eq!(
            phase("0/s..300/s:10s"),
            Ok(LoadPhase::ramp(0.0, 300.0, TEN))
        );
        assert_eq!(phase("0/s:10s"), Ok(LoadPhase::constant(0.0, TEN)));
        assert_eq!(phase("300/s").unwrap_err().span, 5..5);
        assert_eq!(&"10/s:5sek"[phase("10/s:5sek").unwrap_err().span], "sek");
    }

    #[test]
    fn a_load_of_nothing_and_a_load_of_too_many_steps_are_refused() {
        assert!(rate_range("0/s").is_err());
        assert!(steps("", RateRange { from: 0.0, to: 1e6 }, 0.001, TEN).is_err());
    }
}
