//! The hypervisor takes CPU away.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;

use crate::diagnosis::measure::sustained;
use crate::diagnosis::rule::{Check, Role, Rule, RuleMatch, Sign, Symptom, Words};
use crate::diagnosis::rule_id::RuleId::C4;
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::host::cpu::percent;

/// Share of the CPUs' time that a hypervisor may take.
const STEAL_MAX: f64 = 0.05;

pub(crate) const RULES: &[Rule] = &[Rule::new(
    C4,
    "stolen CPU / exhausted burst credits",
    &[Check {
        strength: Strength::Utilisation,
        tier: Tier::Machine,
        symptom: Symptom::Signs(stolen),
        words: stolen_words,
        remedy: "measure again on a machine with dedicated CPUs, or when its neighbours \
                 are idle; on a burstable instance, check whether its CPU credits are used up",
        explains: &[],
    }],
)
.tried_on_series()
.with_role(Role::Addition)];

fn steal() -> String {
    metric::series(metric::CPU_UTILIZATION, &[("cpu.mode", "steal")])
}

/// C4. Where steal invalidates all steps, each finding notes it.
fn stolen(view: &View<'_>) -> Vec<Sign> {
    if view.context.robbed {
        return Vec::new();
    }
    let steal = steal();
    let share = view.share_of_seconds(|row| Some(row.get(&steal)? > STEAL_MAX));
    sustained("", share).into_iter().collect()
}

fn stolen_words(case: &RuleMatch<'_>) -> Words {
    let steal = steal();
    Words::new(
        "CPU steal (the hypervisor serves other guests)",
        format!(
            "the hypervisor took {:.0} % of this machine's CPU time: the measurement does not show the service's own limit",
            percent(case.failing().mean(&steal))
        ),
    )
    .with(bounded(
        case.line(&steal, "share of CPU time stolen"),
        Some(STEAL_MAX),
    ))
    .with(case.line(metric::CPU_BUSY, "share of all CPUs that was busy"))
    // It is not the target's doing.
    .doubtful_if(true)
}
