//! A soak holds when nine of ten of its minutes do: an hour always has a bad minute, and one is not a limit.

use plimsoll_model::histogram::Histogram;
use plimsoll_model::objective::{Answers, Objective};
use plimsoll_model::verdict::FailReason;
use plimsoll_model::window::Window;

/// Seconds of a section that is judged by itself.
const MINUTE_S: usize = 60;
/// Share of the sections that must pass.
const HOLDING_MIN: f64 = 0.9;

/// The bound that the first bad minute broke, when too many minutes are bad. Requests are counted in the minute of their
/// end; those that never end show as a backlog.
pub(super) fn broken(objective: &Objective, measured: &[Window]) -> Option<FailReason> {
    let minutes = measured.chunks(MINUTE_S);
    let most = (1.0 - HOLDING_MIN) * minutes.len() as f64 + f64::EPSILON;
    let broken: Vec<FailReason> = minutes
        .filter_map(|minute| broken_in(objective, minute))
        .collect();
    if broken.len() as f64 > most {
        broken.into_iter().next()
    } else {
        None
    }
}

/// The bound that one section broke, if any.
fn broken_in(objective: &Objective, minute: &[Window]) -> Option<FailReason> {
    let mut good = Histogram::default();
    let mut failed = 0;
    for window in minute {
        good.merge(&window.response);
        failed += window.failed.count();
    }
    super::broken(
        objective,
        Answers {
            good: &good,
            failed,
        },
    )
}
