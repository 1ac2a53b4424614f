//! CPU steal: time that the hypervisor gave to other guests while this machine needed it.
//!
//! It makes the target slower, never faster. So a load that passed in spite of it passed; a load that failed might
//! have passed with the stolen CPU. See docs/decisions/0025.

use plimsoll_model::trial::{Trial, TrialKind};
use plimsoll_model::verdict::VoidReason;

use super::TrialFacts;

/// Share of the machine's CPU that may be stolen in a second, 0 to 1.
pub const STEAL_SHARE_MAX: f64 = 0.05;
/// Share of seconds that may exceed it.
pub(super) const SECONDS_MAX: f64 = 0.20;
/// Stolen share of the CPU demand from which a failure proves nothing.
const SHARE_MAX: f64 = 0.5;

/// Stolen share of the CPU demand in the worst second, 0 to 1; 0 when steal was rare.
pub(super) fn share(facts: &TrialFacts) -> f64 {
    if seconds_share(facts) <= SECONDS_MAX {
        return 0.0;
    }
    let seconds = facts.steal.iter().zip(&facts.busy);
    seconds
        .map(|(steal, busy)| steal / (steal + busy).max(f64::MIN_POSITIVE))
        .fold(0.0, f64::max)
}

/// Share of the seconds in which more than a little was stolen.
fn seconds_share(facts: &TrialFacts) -> f64 {
    let stolen = facts.steal.iter().filter(|&&share| share > STEAL_SHARE_MAX);
    stolen.count() as f64 / (facts.steal.len() as f64).max(1.0)
}

/// Whether theft voids a trial that `failed` or not.
pub(super) fn voids(trial: &Trial, failed: bool, facts: &TrialFacts) -> Option<VoidReason> {
    let seconds_share = seconds_share(facts);
    let matters = match trial.spec.kind {
        // The generator can do what it reached under steal. Equal trials show how noisy the machine is.
        TrialKind::SelfTest | TrialKind::Noise => false,
        // These are compared with calm ones, or their figures are the answer.
        TrialKind::Single | TrialKind::Anchor | TrialKind::Recovery | TrialKind::Step => true,
        // A failure counts at the load that the stolen time would have carried (`Trial::stolen_share`).
        TrialKind::Bracket | TrialKind::Refine => failed && trial.stolen_share > SHARE_MAX,
        TrialKind::Confirm
        | TrialKind::Hysteresis
        | TrialKind::Soak
        | TrialKind::Gate
        | TrialKind::Mitigated
        | TrialKind::Restored => failed,
    };
    (matters && seconds_share > SECONDS_MAX).then_some(VoidReason::Steal { seconds_share })
}
