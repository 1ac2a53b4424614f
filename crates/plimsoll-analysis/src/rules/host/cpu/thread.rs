//! One thread has nothing to spare while the machine has.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::{SeriesTable, label};

use crate::diagnosis::bounds::CPU_TO_SPARE;
use crate::diagnosis::gauges::{Gauge, share};
use crate::diagnosis::measure::{cpu_of_others, of_own_process, of_target, subject_of, sustained};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::{C3, J1, K1};
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::host::network::tls::handshakes_clause;
use crate::rules::in_front::ON_THE_MACHINE;
use crate::rules::python;

/// Share of one CPU from which a thread has nothing to spare.
const THREAD_BUSY: f64 = 0.95;
/// Names of processes whose threads take turns at an interpreter (GIL, GVL).
const INTERPRETERS: [&str; 7] = [
    "celery", "gunicorn", "puma", "python", "ruby", "uvicorn", "uwsgi",
];
/// CPUs that all threads of such a process use when it is saturated: one, and their work outside the interpreter.
const ONE_CPU: std::ops::RangeInclusive<f64> = 0.9..=1.3;
/// Programs with one request per process, so a busy process is normal: their own rules say more.
const BY_OWN_RULES: [&str; 4] = ["postgres", "mariadbd", "mysqld", "mongod"];
/// What is behind the target.
const BEHIND: [(&str, &str); 1] = [("process", metric::BEHIND)];

pub(crate) const RULES: &[Rule] = &[Rule::new(
    C3,
    "one thread (event loop, GIL, single worker)",
    &[Check {
        strength: Strength::Utilisation,
        tier: Tier::Machine,
        symptom: Symptom::Signs(thread),
        words: thread_words,
        remedy: "run more processes or workers, or move work off this thread (event loop, \
                 interpreter lock, single worker)",
        explains: &[ON_THE_MACHINE],
    }],
)];

/// C3: one thread of the target has nothing to spare while the machine has. One CPU alone cannot show it.
fn thread(view: &View<'_>) -> Vec<Sign> {
    let busy = |series: &str| {
        view.share_of_seconds(|row| {
            Some(row.get(series)? >= THREAD_BUSY && cpu_of_others(view, row)? < CPU_TO_SPARE)
        })
    };
    let mut lone = sustained("", busy(&of_target(metric::THREAD_BUSIEST)));
    if !lone.as_ref().is_some_and(|sign| sign.present) {
        let behind = metric::series(metric::THREAD_BUSIEST, &BEHIND);
        let has_own_rules = busiest(view, metric::BEHIND)
            .and_then(|series| label(series, "comm"))
            .is_some_and(|name| BY_OWN_RULES.contains(&name));
        let sign = sustained(subject_of(&behind), busy(&behind));
        lone = sign.filter(|sign| sign.present && !has_own_rules).or(lone);
    }
    if lone.as_ref().is_some_and(|sign| sign.present) {
        return lone.into_iter().collect();
    }
    let locked = interpreters(view).into_iter().filter(|sign| sign.present);
    let most = locked.max_by(|a, b| a.magnitude.total_cmp(&b.magnitude));
    most.or(lone).into_iter().collect()
}

/// Processes of interpreters that let one of their threads compute at a time: together these use one CPU and no more,
/// although none of them is busy for long.
fn interpreters(view: &View<'_>) -> Vec<Sign> {
    let Some(cpus) = view.mean(metric::CPU_COUNT) else {
        return Vec::new();
    };
    let is_interpreter = |series: &&str| {
        let name = label(series, "comm").unwrap_or_default();
        label(series, "process") != Some(view.own_process())
            && label(series, "pid").is_some()
            && INTERPRETERS.iter().any(|prefix| name.starts_with(prefix))
    };
    let all = view.series_of(metric::PROCESS_CPU).filter(is_interpreter);
    all.filter_map(|series| {
        let share = view.share_of_seconds(|row| {
            let used = row.get(series)? * cpus;
            Some(ONE_CPU.contains(&used) && cpu_of_others(view, row)? < CPU_TO_SPARE)
        });
        sustained(subject_of(series), share)
    })
    .collect()
}

/// The threads of an interpreter, which take turns.
fn interpreter_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let field = |name| label(case.label_set, name).unwrap_or("?");
    let series = case.series(metric::PROCESS_CPU);
    let cpus = view.mean(metric::CPU_COUNT).unwrap_or(1.0);
    let name = format!("the interpreter of {} ({})", field("comm"), field("pid"));
    let mut sentence = format!(
        "all threads of {} ({}) together used {:.2} CPUs while all {cpus:.0} CPUs together were {:.0} % busy: its \
         interpreter runs one thread at a time",
        field("comm"),
        field("pid"),
        view.mean(&series).unwrap_or(0.0) * cpus,
        view.mean(metric::CPU_BUSY).unwrap_or(0.0) * 100.0
    );
    sentence.push_str(&python::clause(view));
    Words::new(name, sentence)
        .with(case.line(&series, "the process's share of all CPUs"))
        .with(bounded(
            case.line(metric::CPU_BUSY, "share of all CPUs that was busy"),
            Some(CPU_TO_SPARE),
        ))
        .with(case.line(&of_target(metric::PROCESS_THREADS), "threads of the target"))
        .advising("run more processes or workers, each with its own interpreter".to_owned())
}

fn thread_words(case: &RuleMatch<'_>) -> Words {
    if label(case.label_set, "pid").is_some() {
        return interpreter_words(case);
    }
    let view = case.failing();
    let process = label(case.label_set, "process").unwrap_or(metric::TARGET);
    let group = [("process", process)];
    let share = metric::series(metric::THREAD_BUSIEST, &group);
    let name = busiest(view, process).map_or("one thread of the target".to_owned(), |series| {
        let field = |name| label(series, name).unwrap_or("?");
        format!("thread {} ({})", field("comm"), field("tid"))
    });
    let cpus = view.mean(metric::CPU_COUNT);
    let mut sentence = format!(
        "{name} used {:.0} % of one CPU while all CPUs together were {:.0} % busy",
        view.mean(&share).unwrap_or(0.0) * 100.0,
        view.mean(metric::CPU_BUSY).unwrap_or(0.0) * 100.0
    );
    if let Some(cpus) = cpus {
        append_clause(&mut sentence, format_args!(" ({cpus:.0} CPUs)"));
    }
    sentence.push_str(&python::clause(view));
    let handshakes = handshakes_clause(view).filter(|_| process == metric::TARGET);
    if let Some((clause, _)) = &handshakes {
        sentence.push_str(clause);
    }
    let words = Words::new(name, sentence)
        .with(bounded(
            case.line(&share, "busiest thread's share of one CPU"),
            Some(THREAD_BUSY),
        ))
        .with(bounded(
            case.line(metric::CPU_BUSY, "share of all CPUs that was busy"),
            Some(CPU_TO_SPARE),
        ))
        .with(case.line(
            &of_own_process(view, metric::PROCESS_CPU),
            &format!("{}'s share of all CPUs", view.own_process()),
        ))
        .with(case.line(
            &metric::series(metric::PROCESS_THREADS, &group),
            "threads of these processes",
        ));
    match handshakes {
        Some((_, fewer)) => words.advising(format!("{fewer}; or give it more threads")),
        None => words,
    }
}

/// The series that names a thread: of the group, the one that was the busiest for longest.
fn busiest<'a>(view: &View<'a>, process: &str) -> Option<&'a str> {
    let named = view
        .series_of(metric::THREAD_BUSIEST)
        .filter(|series| label(series, "process") == Some(process))
        .filter(|series| label(series, "tid").is_some());
    named.max_by_key(|series| view.rows().filter(|row| row.get(series).is_some()).count())
}

/// One thread of the target; on a single CPU it is the CPU. What is behind has many that take turns.
pub(crate) fn gauges(readings: &SeriesTable) -> Vec<Gauge> {
    let series = of_target(metric::THREAD_BUSIEST);
    let cpus = readings.values(metric::CPU_COUNT).unwrap_or(&[]);
    let cpus = cpus.iter().copied();
    let has_several = cpus.filter(|cpus| !cpus.is_nan()).any(|cpus| cpus > 1.5);
    let is_known = readings.values(&series).is_some();
    if !has_several || !is_known {
        return Vec::new();
    }
    let name = "the busiest thread of the target";
    vec![share(&series, &[C3, J1, K1], 0.95, name)]
}
