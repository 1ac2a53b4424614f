//! Where a rising load begins to have more bad answers than its objective allows.
//!
//! A service that refuses a tenth of all requests at any load is never half bad, and one of whose parts is behind answers the
//! rest well: neither carries the load. It crosses its line where bad answers go beyond the allowed share for good: the end of
//! the stretch that maximises Σ(allowed · n − bad) (docs/decisions/0519, 0523).

use plimsoll_model::objective::Objective;
use plimsoll_model::window::Window;

use super::{Crossing, Ramp, SecondAnswers, end_of_gain, while_rising};

/// Failures that are allowed, in shares of what the objective allows: a rising load has few requests at each level.
const LENIENCE: f64 = 3.0;
/// The bad answers of a single second count as so many times what is allowed, at most: a restart passes.
const SECOND_MAX: f64 = 10.0;
/// Fewer bad answers behind the good stretch are chance.
const BAD_MIN: f64 = 5.0;
/// Standard deviations of their number by which late answers behind it are more than allowed; less is chance. The end of the
/// stretch is where they begin to be most, so that a few more than allowed are there by itself.
const DEVIATIONS: f64 = 3.0;

/// Where the load went beyond the shares of its objective: of failures, and of answers later than each bound on the response
/// time; `None` where it did not.
pub(super) fn crossing(rising: &[Window], ramp: &Ramp, objective: &Objective) -> Option<Crossing> {
    let rising = while_rising(rising, ramp);
    let answers = |within_us: Option<u64>| -> Vec<SecondAnswers> {
        let seconds = rising.iter();
        seconds
            .map(|window| SecondAnswers::of(window, within_us))
            .collect()
    };
    let failures = objective.errors_max.and_then(|max| {
        let good = end_of_allowed(&answers(None), LENIENCE * max)?;
        Some(ramp.crossing_at(good as f64))
    });
    let late = objective.latency.iter().filter_map(|bound| {
        let allowed = 1.0 - bound.quantile;
        let answers = answers(Some(bound.within_us));
        let good = end_of_allowed(&answers, allowed)?;
        if !is_beyond_chance(&answers[good..], allowed) {
            return None;
        }
        // A late answer was due a bound before it came.
        let lateness_s = bound.within_us as f64 / 1e6;
        Some(ramp.crossing_at(good as f64 - lateness_s))
    });
    failures.into_iter().chain(late).reduce(Crossing::min)
}

/// The first second behind those with no more bad answers than allowed; `None` where nothing is bad behind them.
fn end_of_allowed(seconds: &[SecondAnswers], allowed: f64) -> Option<usize> {
    if allowed <= 0.0 {
        return None;
    }
    let good = end_of_gain(seconds.iter().map(|second| {
        let within = allowed * second.all;
        within - second.bad.min(SECOND_MAX * within)
    }));
    let bad: f64 = seconds[good..].iter().map(|second| second.bad).sum();
    (bad >= BAD_MIN).then_some(good)
}

/// Whether there are more bad answers than chance makes of the allowed share.
fn is_beyond_chance(seconds: &[SecondAnswers], allowed: f64) -> bool {
    let expected = allowed * seconds.iter().map(|second| second.all).sum::<f64>();
    let bad: f64 = seconds.iter().map(|second| second.bad).sum();
    bad - expected >= DEVIATIONS * expected.sqrt()
}
