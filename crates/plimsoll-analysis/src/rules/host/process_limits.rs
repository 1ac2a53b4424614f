//! Limits of processes: open files, and numbers of processes and threads.

#[cfg(test)]
mod tests;

use plimsoll_model::finding::{Finding, Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::{SeriesTable, label};

use crate::diagnosis::SecondRange;
use crate::diagnosis::bounds::NEARLY_FULL;
use crate::diagnosis::gauges::{Gauge, population};
use crate::diagnosis::measure::{of_target, subject_of};
use crate::diagnosis::mitigation::{FACTOR, LimitSetting, Mitigation, level};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::{F1, F2};
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::in_front::{ON_A_SLOW_MACHINE, ON_THE_MACHINE};

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        F1,
        "file descriptors",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Machine,
            symptom: Symptom::Signs(files),
            words: files_words,
            remedy: "raise the limit of open files (ulimit -n, LimitNOFILE, \
                 worker_rlimit_nofile), or find the descriptor leak",
            explains: &[ON_THE_MACHINE],
        }],
    )
    .with_setting(LimitSetting::Found(raised_descriptors)),
    Rule::new(
        F2,
        "pids/threads limit",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Machine,
            symptom: Symptom::Signs(processes),
            words: processes_words,
            remedy: "raise the limit of processes and threads",
            explains: &[ON_A_SLOW_MACHINE],
        }],
    ),
];

/// F1: the target's process nearest its limit of descriptors, or the machine's table of files.
fn files(view: &View<'_>) -> Vec<Sign> {
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

fn files_words(case: &RuleMatch<'_>) -> Words {
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

/// F2: a cgroup of the target that may have no more processes or threads.
fn processes(view: &View<'_>) -> Vec<Sign> {
    let limits = view.series_of(metric::CGROUP_PIDS_LIMIT);
    limits
        .filter_map(|limit| {
            let label_set = subject_of(limit);
            let most = view.max(limit)?;
            let count = view.max(&format!("{}{label_set}", metric::CGROUP_PIDS));
            let refused = view.mean(&format!("{}{label_set}", metric::CGROUP_PIDS_REFUSED));
            let is_full = count.is_some_and(|count| count >= most);
            let present = refused.map_or(is_full, |refused| refused > 0.0);
            let magnitude = count.unwrap_or(0.0) / most.max(1.0) + refused.unwrap_or(0.0);
            Some(Sign::of(label_set, magnitude, present))
        })
        .collect()
}

fn processes_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let cgroup = label(case.label_set, "cgroup").unwrap_or("/");
    let limit = view.max(&case.series(metric::CGROUP_PIDS_LIMIT));
    let refused = case.series(metric::CGROUP_PIDS_REFUSED);
    let most = limit.unwrap_or(0.0);
    let mut sentence = format!(
        "cgroup {cgroup} had {:.0} of at most {most:.0} processes and threads",
        view.max(&case.series(metric::CGROUP_PIDS)).unwrap_or(0.0)
    );
    if let Some(refused) = view.mean(&refused).filter(|&refused| refused > 0.0) {
        let times = (refused * 60.0).max(1.0);
        append_clause(
            &mut sentence,
            format_args!("; {times:.0} times a minute it could not start another one"),
        );
    }
    Words::new(format!("processes and threads of cgroup {cgroup}"), sentence)
        .with(bounded(
            case.line(&case.series(metric::CGROUP_PIDS), "processes and threads"),
            limit,
        ))
        .with(case.line(&refused, "processes and threads refused, per second"))
        .advising(format!(
            "raise the limit (now {most:.0}): `systemctl set-property UNIT TasksMax={:.0}`, `docker run \
             --pids-limit`, or its `pids.max`; or let the service start fewer threads",
            4.0 * most
        ))
        .doubtful_if(label(case.label_set, "process") == Some(view.own_process()))
}

/// The process of the target that was nearest its limit of open files.
fn raised_descriptors(
    readings: &SeriesTable,
    _: &Finding,
    failing: SecondRange,
) -> Option<Mitigation> {
    let own = readings.names_of(metric::PROCESS_FILES);
    let named = own
        .filter(|series| label(series, "process") == Some(metric::TARGET))
        .filter_map(|series| Some((series, level(readings, series, failing)?)))
        .filter(|(series, _)| label(series, "pid").is_some());
    let (series, _) = named.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let limit = of_target(metric::PROCESS_FILES_LIMIT);
    let now = level(readings, &limit, failing).filter(|&now| now > 0.0)?;
    Some(Mitigation::Descriptors {
        pid: label(series, "pid")?.parse().ok()?,
        comm: label(series, "comm").unwrap_or("?").to_owned(),
        now,
        to: FACTOR * now,
    })
}

/// Groups of processes of the service, and how they are called.
const GROUPS: [(&str, &str); 2] = [
    (metric::TARGET, "the target"),
    (metric::BEHIND, "the processes behind the target"),
];

/// File descriptors of the target, and of what is behind it.
pub(crate) fn gauges(readings: &SeriesTable) -> Vec<Gauge> {
    let of_group = |(process, name)| {
        let own = [("process", process)];
        let level = metric::series(metric::PROCESS_FILES, &own);
        let whole = metric::series(metric::PROCESS_FILES_LIMIT, &own);
        readings.values(&whole)?;
        readings.values(&level)?;
        let name = format!("file descriptors of {name}");
        Some(population(&level, whole, &[F1], &name))
    };
    GROUPS.into_iter().filter_map(of_group).collect()
}
