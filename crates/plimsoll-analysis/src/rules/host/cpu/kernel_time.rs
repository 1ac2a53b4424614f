//! The kernel uses most of the CPU.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;

use crate::diagnosis::bounds::CPU_SHORT;
use crate::diagnosis::measure::{of_target, of_target_with, sustained};
use crate::diagnosis::rule::{Check, Role, Rule, RuleMatch, Sign, Symptom, Words};
use crate::diagnosis::rule_id::RuleId::C6;
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::host::cpu::percent;

/// Share of the target's CPU time in the kernel above which the kernel is the limit.
const SYSTEM_MAX: f64 = 0.5;
/// Part of the busy CPU that must be the target's.
const MOSTLY: f64 = 0.5;

pub(crate) const RULES: &[Rule] = &[Rule::new(
    C6,
    "kernel time (syscalls, copies, small I/O)",
    &[Check {
        strength: Strength::Utilisation,
        tier: Tier::Machine,
        symptom: Symptom::Signs(kernel_time),
        words: kernel_time_words,
        remedy: "do more per system call: larger buffers, `sendfile`, keep-alive \
                 connections, fewer and larger writes; `perf trace -s` or `strace -c -f -p PID` \
                 shows the calls",
        explains: &[],
    }],
)
.with_role(Role::Addition)];

/// Share of the target's CPU time that it spent in the kernel.
fn system_share(view: &View<'_>) -> Option<f64> {
    let of = |mode| {
        view.mean(&of_target_with(
            metric::PROCESS_CPU_TIME,
            &[("cpu.mode", mode)],
        ))
    };
    let (user, system) = (of("user")?, of("system")?);
    (user + system > 0.0).then(|| system / (user + system))
}

/// C6: no CPU left, most of it is the target's, and that is in the kernel.
fn kernel_time(view: &View<'_>) -> Vec<Sign> {
    let Some(share) = system_share(view) else {
        return Vec::new();
    };
    let target = of_target(metric::PROCESS_CPU);
    let short = view.share_of_seconds(|row| {
        let busy = row.get(metric::CPU_BUSY)?;
        Some(busy >= CPU_SHORT && row.get(&target)? > MOSTLY * busy)
    });
    let is_short = sustained("", short).is_some_and(|sign| sign.present);
    vec![Sign::lone(share, share > SYSTEM_MAX && is_short)]
}

fn kernel_time_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let evidence = case.over.evidence(
        (
            metric::PROCESS_CPU_TIME,
            "share of the target's CPU time in the kernel",
            "1",
        ),
        system_share,
    );
    Words::new(
        "CPU time in the kernel",
        format!(
            "the CPUs were {:.0} % busy, and the target spent {:.0} % of its CPU time in the kernel: system calls, \
             copies and small packets",
            percent(view.mean(metric::CPU_BUSY)),
            percent(system_share(view))
        ),
    )
    .with(bounded(evidence, Some(SYSTEM_MAX)))
    .with(case.line(metric::CPU_BUSY, "share of all CPUs that was busy"))
}
