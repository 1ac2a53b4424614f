//! A soak holds when nine of ten of its minutes do: an hour always has a bad minute, and one is not a limit.

use plimsoll_model::histogram::Histogram;
use plimsoll_model::objective::{Answers, Objective};
use plimsoll_model::trial::TrialSpec;
use plimsoll_model::verdict::FailReason;
use plimsoll_model::window::Window;

use super::answers::Judged;
use super::backlog_grows;

/// Seconds of a part that is judged by itself.
const PART_S: usize = 60;
/// Share of the parts that must hold.
const HOLDING_MIN: f64 = 0.9;

/// Why a soak broke the objective, if it did. Its requests are counted in the minute of their end; those that never
/// end are seen as a backlog.
pub(super) fn failure(
    spec: &TrialSpec,
    objective: &Objective,
    judged: &Judged<'_>,
) -> Option<FailReason> {
    let in_flight = judged.windows.iter().map(|window| window.in_flight).max();
    if in_flight.unwrap_or(0) > spec.in_flight_cap {
        return Some(FailReason::InFlightCap);
    }
    let broken: Vec<FailReason> = judged
        .windows
        .chunks(PART_S)
        .filter_map(|part| broken(objective, part))
        .collect();
    let parts = judged.windows.len().div_ceil(PART_S);
    if broken.len() as f64 > (1.0 - HOLDING_MIN) * parts as f64 + f64::EPSILON {
        return broken.into_iter().next();
    }
    backlog_grows(spec.requests_per_second(), judged).then_some(FailReason::Backlog)
}

/// Why one part broke the objective.
fn broken(objective: &Objective, part: &[Window]) -> Option<FailReason> {
    let mut good = Histogram::default();
    let mut failed = 0;
    for window in part {
        good.merge(&window.response);
        failed += window.failed.count();
    }
    let answers = Answers {
        good: &good,
        failed,
    };
    if !objective.errors_hold(answers) {
        return Some(FailReason::Errors);
    }
    let holds = objective.latency.iter().all(|bound| bound.holds(answers));
    (!holds).then_some(FailReason::Latency)
}
