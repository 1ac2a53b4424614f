//! What rising loads show, as metrics of the record of a trial.

use plimsoll_analysis::experiment::metrics::ramp::{Crossing, RisenLoad};
use plimsoll_analysis::experiment::metrics::{LOAD_LINE, MetricValues};

/// The load line is at least this: a rising load did not reach it.
pub const LOAD_LINE_MIN: &str = "load_line_min";
/// The load line is at most this: a rising load began beyond it.
pub const LOAD_LINE_MAX: &str = "load_line_max";
/// What was carried of the lowest load where even that began beyond the line, in its unit.
pub const CARRIED: &str = "carried_beyond_line";
/// Share of requests that failed while the load was below its line, 0 to 1.
pub const ERRORS_BELOW_LINE: &str = "errors_below_line";
/// Least share of the machine's memory that was available, 0 to 1.
pub const MEMORY_AVAILABLE: &str = "memory_available";

/// Least share that counts as carried, so that there is a logarithm.
const CARRIED_MIN: f64 = 0.05;

/// Adds what a further load of a trial shows to what is known.
pub(in crate::experiment) fn add(metrics: &mut MetricValues, risen: RisenLoad) {
    let bound = |metrics: &mut MetricValues, name: &str, value: f64, take: fn(f64, f64) -> f64| {
        let known = metrics.get(name).copied().unwrap_or(value);
        metrics.insert(name.to_owned(), take(known, value));
    };
    match risen.crossing {
        Crossing::At(line) => {
            metrics.insert(LOAD_LINE.to_owned(), line);
        }
        Crossing::Above(line) => bound(metrics, LOAD_LINE_MIN, line, f64::max),
        Crossing::Below(line) => {
            bound(metrics, LOAD_LINE_MAX, line, f64::min);
            metrics.insert(
                CARRIED.to_owned(),
                line * (1.0 - risen.bad).max(CARRIED_MIN),
            );
        }
    }
    if !matches!(risen.crossing, Crossing::Below(_)) {
        bound(metrics, ERRORS_BELOW_LINE, risen.errors, f64::max);
    }
}

/// The line of a trial: where a load crossed it, or between two loads of which one did not reach it and the other began
/// beyond it.
pub(in crate::experiment) fn line(metrics: &MetricValues) -> Option<f64> {
    let value = |name: &str| metrics.get(name).copied().filter(|value| *value > 0.0);
    value(LOAD_LINE).or_else(|| Some((value(LOAD_LINE_MIN)? * value(LOAD_LINE_MAX)?).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn risen(crossing: Crossing, errors: f64) -> RisenLoad {
        let bad = errors;
        RisenLoad {
            crossing,
            errors,
            bad,
        }
    }

    #[test]
    fn loads_close_in_on_the_line() {
        let mut metrics = MetricValues::new();
        add(&mut metrics, risen(Crossing::Above(100.0), 0.001));
        add(&mut metrics, risen(Crossing::Above(200.0), 0.0));
        assert_eq!(metrics.get(LOAD_LINE_MIN), Some(&200.0));
        assert_eq!(line(&metrics), None);
        // The next begins beyond it: its errors are not those below the line.
        add(&mut metrics, risen(Crossing::Below(200.0), 0.9));
        assert_eq!(line(&metrics), Some(200.0));
        assert_eq!(metrics.get(ERRORS_BELOW_LINE), Some(&0.001));
        assert!((metrics[CARRIED] - 20.0).abs() < 1e-9);
        add(&mut metrics, risen(Crossing::At(180.0), 0.0));
        assert_eq!(line(&metrics), Some(180.0));
    }
}
