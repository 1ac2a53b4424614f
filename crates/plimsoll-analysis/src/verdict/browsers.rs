//! CPU of the browsers of a plan: they run on the generator's machine, and take what it and a target there would need.
//!
//! As with CPU steal, they make the target slower and never faster, and only in seconds in which the machine had no CPU to
//! spare. So a trial that passed beside them passed; see docs/decisions/0611.

use plimsoll_model::trial::TrialKind;
use plimsoll_model::verdict::VoidReason;

use super::TrialFacts;

/// Share of all CPUs that browsers may use in any second, 0 to 1: as much as may be stolen.
const SHARE_MAX: f64 = super::STEAL_SHARE_MAX;
/// Share of all CPUs that was busy from which they take what others need, 0 to 1.
const BUSY_MIN: f64 = super::GENERATOR_CPU_MAX;
/// Share of seconds in which both may be.
const SECONDS_MAX: f64 = 0.20;

/// Whether the browsers void a trial that `failed` or not.
pub(super) fn voids(kind: TrialKind, failed: bool, facts: &TrialFacts) -> Option<VoidReason> {
    let seconds = facts.browsers.iter().zip(&facts.busy);
    let disturbed = seconds.filter(|&(&share, &busy)| share > SHARE_MAX && busy > BUSY_MIN);
    let seconds_share = disturbed.count() as f64 / (facts.browsers.len() as f64).max(1.0);
    let matters = match kind {
        // The generator can do what it reached beside them.
        TrialKind::SelfTest => false,
        // These are compared with calm ones, or their numbers are the answer: those of a plain run are of this kind.
        TrialKind::Noise
        | TrialKind::Single
        | TrialKind::Anchor
        | TrialKind::Recovery
        | TrialKind::Step => true,
        TrialKind::Bracket
        | TrialKind::Refine
        | TrialKind::Confirm
        | TrialKind::Hysteresis
        | TrialKind::Soak
        | TrialKind::Gate
        | TrialKind::Mitigated
        | TrialKind::Restored => failed,
    };
    (matters && seconds_share > SECONDS_MAX).then_some(VoidReason::BrowserCpu { seconds_share })
}
