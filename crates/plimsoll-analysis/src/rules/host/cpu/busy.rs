//! No CPU of the machine is left, and which programs of the service use it.

use std::collections::BTreeMap;

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::{SeriesTable, label};

use crate::diagnosis::gauges::{Gauge, shares};
use crate::diagnosis::measure::{of_own_process, of_target, sustained};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::{C1, C6, J2, N4, N7, P2, P11, Q2};
use crate::diagnosis::statements::most_of;
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::in_front::ON_THE_MACHINE;

/// Busy share from which all CPUs count as used up.
const BUSY: f64 = 0.95;
/// Share of a second for which tasks may wait for a CPU.
const CPU_STALL_MAX: f64 = 0.20;
/// Part of the busy CPU above which one user of it is the one to name, and above which one is worth a word.
const MOSTLY: f64 = 0.5;
const MUCH: f64 = 0.2;
/// Most programs listed one by one.
const PROGRAMS_MAX: usize = 5;
/// Databases, and their metric of running statements.
const DATABASES: [(&str, &str); 3] = [
    ("postgres", metric::POSTGRES_RUNNING),
    ("mariadbd", metric::MYSQL_RUNNING),
    ("mysqld", metric::MYSQL_RUNNING),
];

pub(crate) const RULES: &[Rule] = &[Rule::new(
    C1,
    "CPU",
    &[Check {
        strength: Strength::Queue,
        tier: Tier::Machine,
        symptom: Symptom::Signs(busy),
        words: busy_words,
        remedy: "find the hot path with a profiler, cache its results, or add cores or \
                 replicas",
        explains: &[ON_THE_MACHINE, &[P11, J2, C6, N4, N7]],
    }],
)];

fn cpu_stall() -> String {
    metric::series(metric::PRESSURE, &[("resource", "cpu"), ("stall", "some")])
}

/// C1: all CPUs busy and tasks waiting for them. Where the kernel has no pressure metrics, more runnable threads than
/// CPUs replace them.
fn busy(view: &View<'_>) -> Vec<Sign> {
    let stall = cpu_stall();
    let share = view.share_of_seconds(|row| {
        let waiting = match row.get(&stall) {
            Some(stalled) => stalled > CPU_STALL_MAX,
            None => row.get(metric::RUN_QUEUE)? > row.get(metric::CPU_COUNT)?,
        };
        Some(row.get(metric::CPU_BUSY)? >= BUSY && waiting)
    });
    sustained("", share).into_iter().collect()
}

fn busy_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let percent = |series: &str| view.mean(series).unwrap_or(0.0) * 100.0;
    let busy = percent(metric::CPU_BUSY);
    let own = view.own_process();
    let own_series = of_own_process(view, metric::PROCESS_CPU);
    let own_share = percent(&own_series);
    let programs = programs(view);
    let service: f64 = programs.iter().map(|(_, share)| share * 100.0).sum();
    let others = (busy - service - own_share).max(0.0);
    // Where no process is known, as on a machine behind the target, nothing distinguishes the service from others.
    let known = !programs.is_empty();
    let mut sentence = format!("the CPUs were {busy:.0} % busy");
    if known || view.machine().is_none() {
        append_users(&mut sentence, view, &programs, (own_share, others));
    }
    if let Some(stalled) = view.mean(&cpu_stall()) {
        append_clause(
            &mut sentence,
            format_args!(
                " and tasks waited for them {:.0} % of the time",
                stalled * 100.0
            ),
        );
    }
    let is_mostly = |amount: f64| amount > busy * MOSTLY;
    if is_mostly(own_share) {
        append_clause(
            &mut sentence,
            format_args!("; most of it went to the {own}, which needs a machine of its own"),
        );
    } else if is_mostly(others) && (known || view.machine().is_none()) {
        append_clause(
            &mut sentence,
            format_args!("; most of it went to processes that are neither target nor {own}"),
        );
    }
    append_statements(&mut sentence, view, &programs, busy);
    let words = Words::new("CPU of the machine", sentence)
        .with(bounded(
            case.line(metric::CPU_BUSY, "share of all CPUs that was busy"),
            Some(BUSY),
        ))
        .with(bounded(
            case.line(
                &cpu_stall(),
                "share of the time that tasks waited for a CPU",
            ),
            Some(CPU_STALL_MAX),
        ))
        .with(case.line(metric::RUN_QUEUE, "runnable threads"))
        .with(case.line(
            &of_target(metric::PROCESS_CPU),
            "target's share of all CPUs",
        ))
        .with(case.line(
            &metric::series(metric::PROCESS_CPU, &[("process", metric::BEHIND)]),
            "share of the processes behind the target",
        ))
        .with(case.line(&own_series, &format!("{own}'s share of all CPUs")))
        .doubtful_if(is_mostly(own_share) || (known && is_mostly(others)));
    match programs.first() {
        Some((name, share)) if name != metric::TARGET && is_mostly(share * 100.0) => {
            words.advising(advice(name))
        }
        _ => words,
    }
}

/// Who used the CPUs, in per cent.
fn append_users(
    sentence: &mut String,
    view: &View<'_>,
    programs: &[(String, f64)],
    (own_share, others): (f64, f64),
) {
    sentence.push_str(" (");
    for (name, share) in programs {
        append_clause(sentence, format_args!("{name} {:.0} %, ", share * 100.0));
    }
    let own = view.own_process();
    append_clause(
        sentence,
        format_args!("{own} {own_share:.0} %, others {others:.0} %)"),
    );
}

fn advice(program: &str) -> String {
    if DATABASES.iter().any(|(name, _)| *name == program) {
        format!(
            "find the most expensive statements of {program}, add an index for them, cache their results, or add cores"
        )
    } else {
        format!("profile {program}, cache what it computes, or add cores or replicas")
    }
}

/// The most frequent statements of databases that use much of the CPU, where they report them.
fn append_statements(
    sentence: &mut String,
    view: &View<'_>,
    programs: &[(String, f64)],
    busy: f64,
) {
    for (name, running) in DATABASES {
        let own = programs.iter().find(|(program, _)| program == name);
        let is_much = own.is_some_and(|(_, share)| share * 100.0 > busy * MUCH);
        if let Some((statement, _)) = most_of(view, view.series_of(running), "statement")
            && is_much
        {
            append_clause(
                sentence,
                format_args!("; {name} mostly executed `{statement}`"),
            );
        }
    }
}

/// Shares of all CPUs that the target and the processes behind it used, by program, largest first; the last are
/// summed. Where no program is known, the target's share.
fn programs(view: &View<'_>) -> Vec<(String, f64)> {
    let mut by_name: BTreeMap<&str, f64> = BTreeMap::new();
    for series in view.series_of(metric::PROCESS_CPU) {
        let is_of_service = matches!(
            label(series, "process"),
            Some(metric::TARGET | metric::BEHIND)
        );
        if let Some(name) = label(series, "comm").filter(|_| is_of_service)
            && label(series, "pid").is_none()
        {
            *by_name.entry(name).or_default() += view.mean(series).unwrap_or(0.0);
        }
    }
    if by_name.len() < 2 {
        let whole = view.mean(&of_target(metric::PROCESS_CPU));
        return whole
            .map(|share| (metric::TARGET.to_owned(), share))
            .into_iter()
            .collect();
    }
    let named = by_name
        .into_iter()
        .map(|(name, share)| (name.to_owned(), share));
    let mut programs: Vec<(String, f64)> = named.collect();
    programs.sort_by(|a, b| b.1.total_cmp(&a.1));
    if programs.len() > PROGRAMS_MAX {
        let rest = programs.split_off(PROGRAMS_MAX - 1);
        let share = rest.iter().map(|(_, share)| share).sum();
        programs.push(("the rest of the service".to_owned(), share));
    }
    programs
}

/// CPU of the machine.
pub(crate) fn gauges(readings: &SeriesTable) -> Vec<Gauge> {
    shares(
        readings,
        metric::CPU_BUSY,
        (&[C1, P2, Q2], 0.95),
        "CPU of the machine",
    )
}
