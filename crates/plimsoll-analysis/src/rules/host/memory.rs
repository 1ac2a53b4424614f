//! Rules about the memory of the target's machine and of its cgroups.

pub(crate) mod leak;

#[cfg(test)]
mod tests;

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::measure::{before, mebibytes, of_target, subject_of, sustained};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::{D1, D2, D3, M1, M2, M3, M5};
use crate::diagnosis::stretch::{Stretch3, View, bounded};
use crate::rules::host::stall;
use crate::rules::in_front::{ON_A_SLOW_MACHINE, ON_THE_MACHINE};

/// Share of the time for which all that runs may wait for memory.
const MEMORY_STALL_MAX: f64 = 0.05;
/// Page faults per second that wait for a disk: below, they are everyday.
const FAULTS_MIN: f64 = 100.0;
const FAULTS_GROWTH: f64 = 10.0;
/// Pages swapped in per second: swapped out and needed again.
const SWAPPED_MIN: f64 = 25.0;

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        M1,
        "memory pressure, thrash",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Machine,
            symptom: Symptom::Change(pressure),
            words: pressure_words,
            remedy: "let the service use less memory (smaller caches and heaps, fewer \
                 workers), or give the machine more",
            explains: &[ON_A_SLOW_MACHINE, &[D1, D2, D3]],
        }],
    ),
    Rule::new(
        M2,
        "memory limit",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Machine,
            symptom: Symptom::Signs(killed),
            words: killed_words,
            remedy: "raise the memory limit, run fewer workers, or find what grows",
            explains: &[ON_THE_MACHINE, &[M1, M3, M5]],
        }],
    ),
    Rule::new(
        M3,
        "swapping",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Machine,
            symptom: Symptom::Signs(swapping),
            words: swapping_words,
            remedy: "let the service use less memory (smaller heaps, fewer workers), or give \
                 the machine more; `vm.swappiness` of 10 in /etc/sysctl.d/ swaps later, and leaves \
                 less memory for the page cache",
            explains: &[ON_A_SLOW_MACHINE, &[M1, D1, D2, D3]],
        }],
    ),
    Rule::new(
        M5,
        "cgroup memory.high reclaim throttling",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Machine,
            symptom: Symptom::Increase {
                metric: metric::CGROUP_MEMORY_HIGH,
            },
            words: reclaimed_words,
            remedy: "raise `memory.high`",
            explains: &[ON_A_SLOW_MACHINE, &[M1, M3]],
        }],
    )
    .tried_on_series(),
];

/// M2: a process was killed by the OOM killer, in a cgroup of the target or anywhere on the machine.
fn killed(view: &View<'_>) -> Vec<Sign> {
    let sign = |series: &str| {
        let per_second = view.mean(series)?;
        Some(Sign {
            label_set: subject_of(series).to_owned(),
            magnitude: per_second,
            present: per_second > 0.0,
        })
    };
    let mut signs: Vec<Sign> = view
        .series_of(metric::CGROUP_OOM_KILLS)
        .filter_map(sign)
        .collect();
    // A kill in a cgroup counts for the machine too; it is the machine's own only when no cgroup had one.
    if !signs.iter().any(|sign| sign.present) {
        signs.extend(sign(metric::OOM_KILLS));
    }
    signs
}

fn killed_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let cgroup = label(case.label_set, "cgroup");
    let series = match cgroup {
        Some(_) => case.series(metric::CGROUP_OOM_KILLS),
        None => metric::OOM_KILLS.to_owned(),
    };
    let kills: f64 = view.rows().filter_map(|row| row.get(&series)).sum();
    let times = format!("{:.0}", kills.max(1.0));
    let kills = bounded(
        case.line(&series, "processes killed by the OOM killer, per second"),
        Some(0.0),
    );
    let Some(cgroup) = cgroup else {
        let victims = format!("the OOM killer killed {times} processes of this machine");
        return Words::new("memory of the machine", victims)
            .with(kills)
            .with(case.line(metric::MEMORY_AVAILABLE, "memory available"))
            .with(case.line(&of_target(metric::PROCESS_MEMORY), "memory of the target"));
    };
    let limit = view.max(&case.series(metric::CGROUP_MEMORY_LIMIT));
    let mut sentence = format!("the OOM killer killed {times} processes of cgroup {cgroup}");
    if let Some(limit) = limit {
        append_clause(
            &mut sentence,
            format_args!("; its limit is {:.0} MiB", limit / f64::from(1 << 20)),
        );
    }
    Words::new(format!("memory limit of cgroup {cgroup}"), sentence)
        .with(kills)
        .with(bounded(
            case.line(&case.series(metric::CGROUP_MEMORY), "memory of the cgroup"),
            limit,
        ))
        .with(case.line(
            &case.series(metric::CGROUP_MEMORY_AT_LIMIT),
            "times the cgroup reached its limit, per second",
        ))
}

fn major_faults() -> String {
    metric::series(
        metric::PAGING_FAULTS,
        &[("system.paging.fault.type", "major")],
    )
}

fn swapped(direction: &str) -> String {
    metric::series(
        metric::PAGING_OPERATIONS,
        &[("system.paging.direction", direction)],
    )
}

/// M1: all tasks wait for memory, or evicted pages are read again and again.
fn pressure(over: &Stretch3<'_>) -> Vec<Sign> {
    let view = &over.failing;
    let stalled = view.mean(&stall("memory", "full"));
    let faulted = view.mean(&major_faults());
    if stalled.is_none() && faulted.is_none() {
        return Vec::new();
    }
    let is_stalled = stalled.is_some_and(|share| share > MEMORY_STALL_MAX);
    let faults_before = before(over, |view| view.mean(&major_faults()));
    let is_thrashing = faulted
        .zip(faults_before)
        .is_some_and(|(now, before)| now >= FAULTS_MIN && now > FAULTS_GROWTH * before);
    vec![Sign::lone(
        stalled.unwrap_or(0.0).max(faulted.unwrap_or(0.0) / 1e6),
        is_stalled || is_thrashing,
    )]
}

fn pressure_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let stalled = view.mean(&stall("memory", "full")).unwrap_or(0.0);
    let faulted = view.mean(&major_faults()).unwrap_or(0.0);
    let mut sentence = format!(
        "memory was short: all tasks waited for it {:.0} % of the time, and {faulted:.0} pages a second were read back \
         from disk (major page faults)",
        stalled * 100.0
    );
    if let Some(available) = view.mean(metric::MEMORY_AVAILABLE) {
        append_clause(
            &mut sentence,
            format_args!("; {:.0} MiB were available", mebibytes(available)),
        );
    }
    Words::new("memory of the machine", sentence)
        .with(bounded(
            case.line(
                &stall("memory", "full"),
                "share of the time that all tasks waited for memory",
            ),
            Some(MEMORY_STALL_MAX),
        ))
        .with(case.line(&major_faults(), "major page faults, per second"))
        .with(case.line(metric::MEMORY_AVAILABLE, "memory available"))
        .with(case.line(&of_target(metric::PROCESS_MEMORY), "memory of the target"))
}

/// M3: pages are swapped in. Pages that are only swapped out were idle.
fn swapping(view: &View<'_>) -> Vec<Sign> {
    let series = swapped("in");
    let share = view.share_of_seconds(|row| Some(row.get(&series)? >= SWAPPED_MIN));
    sustained("", share).into_iter().collect()
}

fn swapping_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let of = |direction| view.mean(&swapped(direction)).unwrap_or(0.0);
    Words::new(
        "memory of the machine, which swaps",
        format!(
            "{:.0} pages a second were swapped in and {:.0} out: the memory in use does not fit",
            of("in"),
            of("out")
        ),
    )
    .with(bounded(
        case.line(&swapped("in"), "pages swapped in, per second"),
        Some(SWAPPED_MIN),
    ))
    .with(case.line(&swapped("out"), "pages swapped out, per second"))
    .with(case.line(metric::MEMORY_AVAILABLE, "memory available"))
    .with(case.line(&of_target(metric::PROCESS_MEMORY), "memory of the target"))
}

/// M5.
fn reclaimed_words(case: &RuleMatch<'_>) -> Words {
    let cgroup = label(case.label_set, "cgroup").unwrap_or("/");
    let high = case.series(metric::CGROUP_MEMORY_HIGH);
    let memory = case.series(metric::CGROUP_MEMORY);
    let view = case.failing();
    Words::new(
        format!("memory.high of cgroup {cgroup}"),
        format!(
            "{:.0} times a second cgroup {cgroup} was throttled because its memory exceeds `memory.high` ({:.0} MiB)",
            view.mean(&high).unwrap_or(0.0).max(1.0),
            mebibytes(view.max(&memory).unwrap_or(0.0))
        ),
    )
    .with(bounded(
        case.line(&high, "times it was throttled, per second"),
        Some(0.0),
    ))
    .with(case.line(&memory, "memory of the cgroup"))
    .advising(format!(
        "raise it: `systemctl set-property UNIT MemoryHigh=…` (or /sys/fs/cgroup{cgroup}/memory.high), or let the \
         service use less memory: smaller heaps, fewer workers"
    ))
}
