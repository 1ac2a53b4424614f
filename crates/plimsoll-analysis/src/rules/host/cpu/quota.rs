//! The CPU quota of a cgroup is used up.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::bounds::THROTTLED_MAX;
use crate::diagnosis::measure::of_target;
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::{C2, C3, J2, P11};
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::in_front::ON_THE_MACHINE;

pub(crate) const RULES: &[Rule] = &[Rule::new(
    C2,
    "cgroup CPU quota",
    &[Check {
        strength: Strength::Explicit,
        tier: Tier::Machine,
        symptom: Symptom::Ratio {
            part: metric::CGROUP_CPU_THROTTLED,
            whole: metric::CGROUP_CPU_PERIODS,
            above: THROTTLED_MAX,
        },
        words: quota_words,
        remedy: "raise the CPU quota of the container or service, and run no more threads \
                 than the quota has CPUs",
        explains: &[ON_THE_MACHINE, &[C3, P11, J2]],
    }],
)];

/// C2.
fn quota_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let cgroup = label(case.label_set, "cgroup").unwrap_or("/");
    let periods = case.series(metric::CGROUP_CPU_PERIODS);
    let throttled = case.series(metric::CGROUP_CPU_THROTTLED);
    let share = |view: &View<'_>| {
        let whole = view.mean(&periods).filter(|&whole| whole > 0.0)?;
        Some(view.mean(&throttled)? / whole)
    };
    let quota = view.mean(&case.series(metric::CGROUP_CPU_QUOTA));
    let mut sentence = format!(
        "cgroup {cgroup} used up its CPU quota in {:.0} % of the periods",
        share(view).unwrap_or(0.0) * 100.0
    );
    if let Some(quota) = quota {
        append_clause(&mut sentence, format_args!("; it may use {quota:.2} CPUs"));
    }
    let own = view.own_process();
    let is_own = label(case.label_set, "process") == Some(own);
    if is_own {
        append_clause(
            &mut sentence,
            format_args!("; it is the {own}'s own cgroup"),
        );
    }
    let ratio = case.over.evidence(
        (&throttled, "share of periods throttled by the quota", "1"),
        share,
    );
    Words::new(format!("CPU quota of cgroup {cgroup}"), sentence)
        .with(bounded(ratio, Some(THROTTLED_MAX)))
        .with(case.line(
            &case.series(metric::CGROUP_CPU_THROTTLED_TIME),
            "time the cgroup was throttled, per second",
        ))
        .with(case.line(
            &case.series(metric::CGROUP_CPU_QUOTA),
            "CPUs the cgroup may use",
        ))
        .with(case.line(
            &of_target(metric::PROCESS_CPU),
            "target's share of all CPUs",
        ))
        .doubtful_if(is_own)
}
