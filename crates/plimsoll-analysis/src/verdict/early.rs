//! Failures that no rest of a trial can save.

use plimsoll_model::objective::{Answers, Objective};
use plimsoll_model::trial::{TrialKind, TrialSpec};
use plimsoll_model::verdict::FailReason;
use plimsoll_model::window::Window;

use super::answers::due_since;

/// Bad requests over those allowed from which on a failure is only "far beyond": a trial may stop.
pub(crate) const FAR: f64 = 2.0;

/// Whether a running trial has certainly failed, from the windows closed so far (ramp included).
///
/// Certain means: more bad requests than the objective allows of all that the whole trial can offer, which is λT (for
/// users, their requests if none waited) and three standard deviations of a Poisson count; or more in flight than the
/// cap. There is no early pass. A trial of the bracket or the refinement goes on until it has twice the bad requests
/// allowed: the extent of its failure is evidence too.
pub fn early(
    spec: &TrialSpec,
    objective: &Objective,
    windows_so_far: &[Window],
) -> Option<FailReason> {
    let first = windows_so_far.first()?;
    if windows_so_far
        .iter()
        .any(|window| window.in_flight > spec.in_flight_cap)
    {
        return Some(FailReason::InFlightCap);
    }
    if !spec.kind.counts_for_line() {
        return None;
    }
    let planned = spec.requests_per_second() * f64::from(spec.measure_s);
    let most = planned + 3.0 * planned.sqrt();
    let from = first.second + spec.ramp_s + spec.warmup_s;
    let mut finished = due_since(windows_so_far, from);
    // What is in flight may still end well.
    finished.failed -= windows_so_far.last().map_or(0, |window| window.in_flight);
    let answers = Answers {
        good: &finished.good,
        failed: finished.failed,
    };
    if objective
        .errors_max
        .is_some_and(|max| answers.failed as f64 > max * most)
    {
        return Some(FailReason::Errors);
    }
    let margin = if matches!(spec.kind, TrialKind::Bracket | TrialKind::Refine) {
        FAR
    } else {
        1.0
    };
    let broken = objective
        .latency
        .iter()
        .any(|bound| answers.bad(bound.within_us) as f64 > margin * bound.bad_allowed(most));
    broken.then_some(FailReason::Latency)
}

/// Kinds of trial that end at once when they are certain to fail.
pub const fn may_stop_early(kind: TrialKind) -> bool {
    matches!(
        kind,
        TrialKind::Bracket
            | TrialKind::Refine
            | TrialKind::Confirm
            | TrialKind::Gate
            | TrialKind::Mitigated
            | TrialKind::Restored
    )
}
