//! The CPUs' clock is low under load.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;

use crate::diagnosis::rule::{Check, Role, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::C7;
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::host::cpu::percent;

/// Clock as a share of the rated one below which CPUs are slowed down.
const CLOCK_MIN: f64 = 0.8;
/// CPUs that have little to do are slow because they may.
const CLOCK_BUSY: f64 = 0.5;

pub(crate) const RULES: &[Rule] = &[Rule::new(
    C7,
    "thermal or power cap",
    &[Check {
        strength: Strength::Utilisation,
        tier: Tier::Machine,
        symptom: Symptom::Signs(clock),
        words: clock_words,
        remedy: "fix the machine's cooling or its power limit, and measure again: \
                 `turbostat` shows which it is; the governor is set in \
                 /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        explains: &[],
    }],
)
.tried_on_series()
.with_role(Role::Addition)];

/// C7: CPUs run below their rated clock under load, or report throttling.
fn clock(view: &View<'_>) -> Vec<Sign> {
    let busy = view.mean(metric::CPU_BUSY).unwrap_or(0.0);
    let slowed = view.mean(metric::CPU_SLOWED);
    let clock = view.mean(metric::CPU_CLOCK);
    if slowed.is_none() && clock.is_none() {
        return Vec::new();
    }
    let is_slow = clock.is_some_and(|clock| clock < CLOCK_MIN);
    let is_slowed = slowed.is_some_and(|times| times > 0.0);
    vec![Sign::lone(
        1.0 - clock.unwrap_or(1.0) + slowed.unwrap_or(0.0),
        busy >= CLOCK_BUSY && (is_slow || is_slowed),
    )]
}

fn clock_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let mut sentence = match view.mean(metric::CPU_CLOCK) {
        Some(clock) => format!(
            "the CPUs ran at {:.0} % of their rated clock",
            clock * 100.0
        ),
        None => "the CPUs throttled themselves".to_owned(),
    };
    append_clause(
        &mut sentence,
        format_args!(
            " while they were {:.0} % busy: heat, or a power limit",
            percent(view.mean(metric::CPU_BUSY))
        ),
    );
    Words::new("clock of the CPUs", sentence)
        .with(bounded(
            case.line(metric::CPU_CLOCK, "clock as a share of the rated one"),
            Some(CLOCK_MIN),
        ))
        .with(bounded(
            case.line(metric::CPU_SLOWED, "throttle events, per second"),
            Some(0.0),
        ))
        .with(case.line(metric::CPU_BUSY, "share of all CPUs that was busy"))
        // It is not the target's doing.
        .doubtful_if(true)
}
