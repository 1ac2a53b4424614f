//! How long until the target is well again after an overload.

use plimsoll_model::objective::{Answers, Objective};
use plimsoll_model::window::Window;

/// Seconds that must be good one after the other.
pub const GOOD_SECONDS: usize = 5;

/// Seconds from the first window until five consecutive good seconds begin; `None` when there are none (yet).
///
/// A second is good when its answers break no latency bound by more than the one request that rounding gives, no
/// more failed than allowed, and at most 1.2 times `anchor_in_flight` requests were in flight, with two standard
/// deviations of a Poisson count on top: single seconds at low load scatter that much.
pub fn recovered(windows: &[Window], anchor_in_flight: f64, objective: &Objective) -> Option<u32> {
    let calm = 1.2 * anchor_in_flight + 2.0 * anchor_in_flight.sqrt() + 1.0;
    let good = |window: &Window| window.in_flight_mean <= calm && is_good(window, objective);
    let first = windows.first()?;
    let start = windows
        .windows(GOOD_SECONDS)
        .find(|stretch| stretch.iter().all(good))?;
    Some(start[0].second - first.second)
}

fn is_good(window: &Window, objective: &Objective) -> bool {
    let answers = Answers {
        good: &window.response,
        failed: window.outcomes.failed(),
    };
    let total = answers.total() as f64;
    let latency = objective
        .latency
        .iter()
        .all(|bound| answers.bad(bound.within_us) as f64 <= bound.bad_allowed(total).ceil());
    let errors = objective
        .errors_max
        .is_none_or(|max| answers.failed as f64 <= (max * total).ceil());
    latency && errors
}
