//! Threads wait for each other.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::outcome::Outcome;

use crate::diagnosis::bounds::CPU_TO_SPARE;
use crate::diagnosis::measure::{SUSTAINED, cpu_of_others, of_target, of_target_with};
use crate::diagnosis::rule::{Check, Role, Rule, RuleMatch, Sign, Symptom, Words};
use crate::diagnosis::rule_id::RuleId::C5;
use crate::diagnosis::stretch::{Stretch3, View};
use crate::rules::host::cpu::percent;

/// How many times more often threads of the target wait, for each request, than at the load that passed.
const WAITS_GROWTH: f64 = 2.0;
/// Threads that wait for a lock at once from which that is contention.
const LOCKED_MIN: f64 = 4.0;
/// Least growth of the offered load, and largest growth of throughput, for throughput to count as flat.
const FLAT: f64 = 1.1;
/// Times that threads were put off the CPU, for each time that they left it themselves.
const INVOLUNTARY_MAX: f64 = 0.25;

pub(crate) const RULES: &[Rule] = &[Rule::new(
    C5,
    "lock contention",
    &[Check {
        strength: Strength::Decomposition,
        tier: Tier::Runtime,
        symptom: Symptom::Change(contention),
        words: contention_words,
        remedy: "find the lock (`perf lock`, `offcputime`, a thread dump), hold it for \
                 less, or give each thread or shard its own",
        explains: &[],
    }],
)
.with_role(Role::FailureMode)];

/// Context switches of the target's threads per request. Per answer would mislead: late answers do not count, which
/// inflates the ratio.
fn switches(view: &View<'_>, kind: &str) -> Option<f64> {
    let series = of_target_with(
        metric::PROCESS_SWITCHES,
        &[("process.context_switch.type", kind)],
    );
    let (_, requests) = rates(view)?;
    Some(view.mean(&series)? / requests.max(1.0))
}

/// Answers and arrivals per second.
fn rates(view: &View<'_>) -> Option<(f64, f64)> {
    let seconds = view.windows().len().max(1) as f64;
    let answers = view.sum(|window| window.outcomes.get(Outcome::Ok))? as f64 / seconds;
    let offered = view.sum(|window| window.offered.max(window.sent))? as f64 / seconds;
    Some((answers, offered))
}

/// C5: the offered load grows but not the throughput, the CPUs are idle, and threads block much more often.
fn contention(over: &Stretch3<'_>) -> Vec<Sign> {
    let (failing, passing) = (&over.failing, &over.passing);
    let sign = || {
        let (answers, offered) = rates(failing)?;
        let (answers_before, offered_before) = rates(passing)?;
        let pushed = switches(failing, "involuntary").unwrap_or(0.0);
        let idle = failing
            .share_of_seconds(|row| Some(cpu_of_others(failing, row)? < CPU_TO_SPARE))
            .is_some_and(|share| share > 1.0 - SUSTAINED);
        let threads = failing.mean(&of_target(metric::PROCESS_THREADS))?;
        let is_flat = offered >= FLAT * offered_before && answers <= FLAT * answers_before;
        let growth = waits_growth(over);
        let is_waiting = growth >= WAITS_GROWTH
            && pushed < INVOLUNTARY_MAX * switches(failing, "voluntary").unwrap_or(0.0);
        let locked = locked_growth(over);
        let is_locked = locked >= WAITS_GROWTH;
        Some(Sign::lone(
            growth.max(locked),
            is_flat && (is_waiting || is_locked) && idle && threads > 1.5,
        ))
    };
    sign().into_iter().collect()
}

/// How many times as often the target's threads leave the CPU by themselves, for each request, as at the load that passed.
fn waits_growth(over: &Stretch3<'_>) -> f64 {
    let waits = switches(&over.failing, "voluntary");
    let before = switches(&over.passing, "voluntary").filter(|&waits| waits > 0.0);
    waits
        .zip(before)
        .map_or(0.0, |(waits, before)| waits / before)
}

fn lock_series() -> String {
    of_target_with(metric::THREAD_WAITS, &[("on", "lock")])
}

/// Ratio of the target's threads waiting for a lock to those at the load that passed, where these are several: idle
/// threads wait for one too, but get fewer under load.
fn locked_growth(over: &Stretch3<'_>) -> f64 {
    let locked = over.failing.mean(&lock_series()).unwrap_or(0.0);
    let before = over.passing.mean(&lock_series()).unwrap_or(0.0);
    if locked < LOCKED_MIN {
        return 0.0;
    }
    locked / before.max(0.5)
}

fn contention_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let each = switches(view, "voluntary").unwrap_or(0.0);
    let threads = view
        .mean(&of_target(metric::PROCESS_THREADS))
        .unwrap_or(0.0);
    let evidence = case.over.evidence(
        (
            metric::PROCESS_SWITCHES,
            "voluntary context switches of its threads, per request",
            "1",
        ),
        |view| switches(view, "voluntary"),
    );
    let busy = percent(view.mean(metric::CPU_BUSY));
    let sentence = if locked_growth(case.over) >= WAITS_GROWTH {
        format!(
            "{:.1} of the target's {threads:.0} threads on average waited for a lock, {:.1} at the load that passed, \
             while the CPUs were {busy:.0} % busy and throughput did not rise",
            view.mean(&lock_series()).unwrap_or(0.0),
            case.over.passing.mean(&lock_series()).unwrap_or(0.0)
        )
    } else {
        format!(
            "the target's {threads:.0} threads blocked {each:.0} times per request, at least twice as often as at the \
             load that passed, while the CPUs were {busy:.0} % busy and throughput did not rise"
        )
    };
    Words::new("a lock that the target's threads wait for", sentence)
        .with(case.line(&lock_series(), "threads waiting for a lock"))
        .with(evidence)
        .with(case.line(metric::CPU_BUSY, "share of all CPUs that was busy"))
        .with(case.line(&of_target(metric::PROCESS_THREADS), "threads of the target"))
}
