//! Where a rising load begins to fail more often than its objective allows.
//!
//! A service that refuses a tenth of all requests at any load is never half bad, and yet carries nothing. The load crosses its
//! line where failures go beyond what is allowed for good: the end of the stretch that maximises Σ(allowed · n − failed)
//! (docs/decisions/0519).

use super::{Crossing, Ramp, SecondAnswers, end_of_gain, while_rising};

/// Failures that are allowed, in shares of what the objective allows: a rising load has few requests at each level.
const LENIENCE: f64 = 3.0;
/// The failures of a single second count as so many times what is allowed, at most: a restart passes.
const SECOND_MAX: f64 = 10.0;
/// Fewer failures behind the good stretch are chance.
const FAILURES_MIN: f64 = 5.0;

/// Where failures went beyond `errors_max`, the share that the objective allows; `None` where they did not.
pub(super) fn crossing(
    answers: &[SecondAnswers],
    ramp: &Ramp,
    errors_max: Option<f64>,
) -> Option<Crossing> {
    let allowed = LENIENCE * errors_max?;
    let answers = while_rising(answers, ramp);
    let good = end_of_gain(answers, |second| {
        let within = allowed * second.all;
        within - second.failed.min(SECOND_MAX * within)
    });
    let failed: f64 = answers[good..].iter().map(|second| second.failed).sum();
    if failed < FAILURES_MIN {
        return None;
    }
    Some(if good == 0 {
        Crossing::Below(ramp.from())
    } else {
        Crossing::At(ramp.load_at(good as f64))
    })
}
