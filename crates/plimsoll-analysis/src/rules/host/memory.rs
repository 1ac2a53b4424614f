//! Rules about memory and numbers of processes of the target's machine.

use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::measure::{before, of_target, subject_of, sustained};
use crate::diagnosis::rule::{RuleMatch, Sign, Words, append_clause};
use crate::diagnosis::stretch::{Stretch3, View, bounded};
use crate::stats::trend::{TheilSen, theil_sen_points};

/// Share of the time for which all that runs may wait for memory.
const MEMORY_STALL_MAX: f64 = 0.05;
/// Page faults per second that wait for a disk: below, they are everyday.
const FAULTS_MIN: f64 = 100.0;
const FAULTS_GROWTH: f64 = 10.0;
/// Pages swapped in per second: swapped out and needed again.
const SWAPPED_MIN: f64 = 25.0;
/// A leak that reaches its limit within this time is reported, s.
const LEAK_SOON_S: f64 = 86_400.0;
/// Anchors must lie this far apart, s, and have so many readings.
const LEAK_SPAN_S: f64 = 120.0;
const LEAK_POINTS_MIN: usize = 12;
/// Most points of a leak's line: the slopes of all pairs are computed.
const LEAK_POINTS_MAX: usize = 300;
/// What has grown by less than this share may be a cache that fills.
const LEAK_GROWTH_MIN: f64 = 0.1;

pub(crate) fn stall(resource: &str, kind: &str) -> String {
    metric::series(metric::PRESSURE, &[("resource", resource), ("stall", kind)])
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

pub(crate) fn mebibytes(bytes: f64) -> f64 {
    bytes / 1_048_576.0
}

/// M1: all tasks wait for memory, or evicted pages are read again and again.
pub(crate) fn pressure(over: &Stretch3<'_>) -> Vec<Sign> {
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

pub(crate) fn pressure_words(case: &RuleMatch<'_>) -> Words {
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
pub(crate) fn swapping(view: &View<'_>) -> Vec<Sign> {
    let series = swapped("in");
    let share = view.share_of_seconds(|row| Some(row.get(&series)? >= SWAPPED_MIN));
    sustained("", share).into_iter().collect()
}

pub(crate) fn swapping_words(case: &RuleMatch<'_>) -> Words {
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

/// What may leak: series, its limit, name, and unit in texts.
fn leaks(view: &View<'_>) -> Vec<(String, Option<f64>, &'static str)> {
    let cgroup = view
        .series_of(metric::CGROUP_MEMORY_LIMIT)
        .filter(|series| label(series, "process") == Some(metric::TARGET))
        .filter_map(|series| view.max(series))
        .reduce(f64::min);
    let memory = cgroup.or_else(|| view.max(metric::MEMORY_LIMIT));
    let files = view.max(&of_target(metric::PROCESS_FILES_LIMIT));
    let threads = view
        .series_of(metric::CGROUP_PIDS_LIMIT)
        .filter(|series| label(series, "process") == Some(metric::TARGET))
        .filter_map(|series| view.max(series))
        .reduce(f64::min);
    vec![
        (of_target(metric::PROCESS_MEMORY), memory, "memory"),
        (of_target(metric::PROCESS_FILES), files, "file descriptors"),
        (of_target(metric::PROCESS_THREADS), threads, "threads"),
    ]
}

/// The line through a level at equal low loads, the level at its end, and the share by which it has grown; `None`
/// where anchors are too few or the growth may be chance. Its second half must grow as well: a cache that fills stops.
fn leak(over: &Stretch3<'_>, series: &str) -> Option<(TheilSen, f64, f64)> {
    let all = over.base.points(series);
    let step = all.len().div_ceil(LEAK_POINTS_MAX).max(1);
    let points: Vec<(f64, f64)> = all.into_iter().step_by(step).collect();
    let span = points.last()?.0 - points.first()?.0;
    if points.len() < LEAK_POINTS_MIN || span < LEAK_SPAN_S {
        return None;
    }
    let line = theil_sen_points(&points)?;
    let later = theil_sen_points(&points[points.len() / 2..])?;
    let end = points.last()?.1;
    let growth = line.slope * span / (end - line.slope * span).max(1.0);
    let goes_on = line.slope_low > 0.0 && later.slope_low > 0.0 && later.slope > line.slope / 2.0;
    (goes_on && growth >= LEAK_GROWTH_MIN).then_some((line, end, growth))
}

/// M4: at the same low load, again and again, the target has more than before.
pub(crate) fn leaking(over: &Stretch3<'_>) -> Vec<Sign> {
    let candidates = leaks(&over.failing).into_iter();
    candidates
        .filter_map(|(series, limit, _)| {
            let (line, end, growth) = leak(over, &series)?;
            let left_s = limit.map(|limit| (limit - end).max(0.0) / line.slope);
            let is_soon = left_s.is_some_and(|left_s| left_s < LEAK_SOON_S);
            Some(Sign::of(&series, growth, is_soon))
        })
        .collect()
}

pub(crate) fn leaking_words(case: &RuleMatch<'_>) -> Words {
    let candidates = leaks(case.failing());
    let own = candidates.into_iter().find(|leak| leak.0 == case.label_set);
    let (series, limit, what) = own.unwrap_or_default();
    let Some((line, end, growth)) = leak(case.over, &series) else {
        return Words::new(what, String::new());
    };
    let per_hour = line.slope * 3600.0;
    let [end_text, per_hour_text, low, high] = [
        end,
        per_hour,
        line.slope_low * 3600.0,
        line.slope_high * 3600.0,
    ]
    .map(|value| {
        if what == "memory" {
            mebibytes(value)
        } else {
            value
        }
    });
    let unit = if what == "memory" { " MiB" } else { "" };
    let mut sentence = format!(
        "at the same low load the target's {what} grew by {:.0} %, by {per_hour_text:.0}{unit} an hour (95 % interval \
         {low:.0} to {high:.0}), to {end_text:.0}{unit}",
        growth * 100.0
    );
    if let Some(limit) = limit {
        let hours = (limit - end).max(0.0) / per_hour;
        append_clause(
            &mut sentence,
            format_args!("; at this rate it reaches its limit in {hours:.1} hours"),
        );
    }
    Words::new(format!("{what} of the target, which leaks"), sentence)
        .with(bounded(case.line(&series, what), limit))
}

/// M5.
pub(crate) fn reclaimed_words(case: &RuleMatch<'_>) -> Words {
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

/// F2: a cgroup of the target that may have no more processes or threads.
pub(crate) fn processes(view: &View<'_>) -> Vec<Sign> {
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

pub(crate) fn processes_words(case: &RuleMatch<'_>) -> Words {
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
        .doubtful_if(label(case.label_set, "process") == Some(metric::GENERATOR))
}
