//! Rules about CPU, memory and descriptors of the target's machine, its cgroup and its processes.

use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::bounds::{NEARLY_FULL, THROTTLED_MAX};
use crate::diagnosis::measure::{
    cpu_without_generator, of_generator, of_target, subject_of, sustained,
};
use crate::diagnosis::rule::{RuleMatch, Sign, Words, append_clause};
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::host::cpu::handshakes_clause;
use crate::rules::python;

/// Share of one CPU from which a thread has nothing to spare.
const THREAD_BUSY: f64 = 0.95;
/// Mean busy share below which the machine has CPU to spare for other threads.
const CPU_TO_SPARE: f64 = 0.70;
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

/// C2.
pub(crate) fn quota_words(case: &RuleMatch<'_>) -> Words {
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
    let generator = label(case.label_set, "process") == Some(metric::GENERATOR);
    if generator {
        sentence.push_str("; it is the generator's own cgroup");
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
        .doubtful_if(generator)
}

/// C3: one thread of the target has nothing to spare while the machine has. One CPU alone cannot show it.
pub(crate) fn thread(view: &View<'_>) -> Vec<Sign> {
    let busy = |series: &str| {
        view.share_of_seconds(|row| {
            Some(row.get(series)? >= THREAD_BUSY && cpu_without_generator(row)? < CPU_TO_SPARE)
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
        label(series, "process") != Some(metric::GENERATOR)
            && label(series, "pid").is_some()
            && INTERPRETERS.iter().any(|prefix| name.starts_with(prefix))
    };
    let all = view.series_of(metric::PROCESS_CPU).filter(is_interpreter);
    all.filter_map(|series| {
        let share = view.share_of_seconds(|row| {
            let used = row.get(series)? * cpus;
            Some(ONE_CPU.contains(&used) && cpu_without_generator(row)? < CPU_TO_SPARE)
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

pub(crate) fn thread_words(case: &RuleMatch<'_>) -> Words {
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
            &of_generator(metric::PROCESS_CPU),
            "generator's share of all CPUs",
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

/// M2: a process was killed by the OOM killer, in a cgroup of the target or anywhere on the machine.
pub(crate) fn killed(view: &View<'_>) -> Vec<Sign> {
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

pub(crate) fn killed_words(case: &RuleMatch<'_>) -> Words {
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

/// F1: the target's process nearest its limit of descriptors, or the machine's table of files.
pub(crate) fn files(view: &View<'_>) -> Vec<Sign> {
    let fill = |label_set: &str, level: &str, limit: &str| {
        let share = view.rows().filter_map(|row| {
            let limit = row.get(limit).filter(|&limit| limit > 0.0)?;
            Some(row.get(level)? / limit)
        });
        let share = share.reduce(f64::max)?;
        Some(Sign {
            label_set: label_set.to_owned(),
            magnitude: share,
            present: share > NEARLY_FULL,
        })
    };
    let of_group = |process| {
        let group = [("process", process)];
        let open = metric::series(metric::PROCESS_FILES, &group);
        let limit = metric::series(metric::PROCESS_FILES_LIMIT, &group);
        fill(subject_of(&open), &open, &limit)
    };
    of_group(metric::TARGET)
        .into_iter()
        .chain(of_group(metric::BEHIND))
        .chain(fill("", metric::FILES_OPEN, metric::FILES_LIMIT))
        .collect()
}

pub(crate) fn files_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let (level, limit) = if case.label_set.is_empty() {
        (
            metric::FILES_OPEN.to_owned(),
            metric::FILES_LIMIT.to_owned(),
        )
    } else {
        (
            case.series(metric::PROCESS_FILES),
            case.series(metric::PROCESS_FILES_LIMIT),
        )
    };
    // The series that name a process: the one that was nearest its limit in the fullest second.
    let named = view
        .series_of(metric::PROCESS_FILES)
        .filter(|series| label(series, "process") == label(case.label_set, "process"))
        .filter(|series| label(series, "pid").is_some())
        .max_by(|a, b| {
            let max = |series| view.max(series).unwrap_or(0.0);
            max(a).total_cmp(&max(b))
        });
    let who = match named {
        _ if case.label_set.is_empty() => "this machine".to_owned(),
        Some(series) => {
            let field = |name| label(series, name).unwrap_or("?");
            format!("process {} ({})", field("comm"), field("pid"))
        }
        None => "the target's process".to_owned(),
    };
    let bound = view.max(&limit);
    Words::new(
        format!("file descriptors of {who}"),
        format!(
            "{who} held {:.0} of at most {:.0} file descriptors",
            view.max(&level).unwrap_or(0.0),
            bound.unwrap_or(0.0)
        ),
    )
    .with(bounded(
        case.line(&level, "open file descriptors"),
        bound.map(|bound| bound * NEARLY_FULL),
    ))
    .with(case.line(&limit, "limit of file descriptors"))
}
