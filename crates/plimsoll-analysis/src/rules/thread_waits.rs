//! Waits of the target's threads, sampled once a second: servers that are not watched otherwise.

#[cfg(test)]
mod tests;

use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::measure::{of_target_with, subject_of};
use crate::diagnosis::rule::{RuleMatch, Sign, Words, append_clause};
use crate::diagnosis::stretch::{SecondValues, Stretch3, View};

/// Share of the time from which something takes most of it.
const MOSTLY: f64 = 0.5;
/// A wait for each request that is this many times as long as at low load has grown.
const GREW: f64 = 1.5;
/// Standard deviations by which so few samples at low load must differ.
const SURE: f64 = 2.0;
/// What threads do that is no server.
const NO_SERVERS: [&str; 12] = [
    "accept", "child", "clients", "disk", "events", "lock", "other", "pipe", "running", "sleep",
    "sockets", "",
];
/// Of these, the waits within a request.
const AT_WORK: [&str; 4] = ["child", "disk", "pipe", "running"];

fn on(series: &str) -> &str {
    label(series, "on").unwrap_or_default()
}

/// Whether the wait is for a watched component: by its address, or by PostgreSQL's socket of the same port. An agent has its
/// own address for a component of its machine, of which the port is the same.
fn is_watched(view: &View<'_>, server: &str) -> bool {
    let port = server.rsplit([':', '.']).next();
    let has_port = |at: &str| at.rsplit([':', '.']).next() == port;
    let is_reachable = server.contains(':');
    let mut others = view.elsewhere().flat_map(|readings| {
        let components = readings.names_of(metric::PROBE_ANSWER_TIME);
        components.filter_map(|component| label(component, "at"))
    });
    if is_reachable && others.any(has_port) {
        return true;
    }
    let mut components = view.series_of(metric::PROBE_ANSWER_TIME);
    components.any(|component| {
        let at = label(component, "at").unwrap_or_default();
        let is_other_end = at.contains(".s.PGSQL.") || server.contains(".s.PGSQL.");
        at.contains(server) || is_other_end && has_port(at)
    })
}

/// Servers that threads waited for and that nothing watches: the series of each.
pub(crate) fn unwatched<'a>(view: &View<'a>) -> impl Iterator<Item = (&'a str, &'a str)> {
    let all = view.series_of(metric::THREAD_WAITS);
    all.map(|series| (series, on(series)))
        .filter(|(_, server)| !NO_SERVERS.contains(server) && !is_watched(view, server))
}

/// What else threads did while they waited, and how many on average, most first.
pub(crate) fn otherwise(view: &View<'_>) -> Vec<(&'static str, f64)> {
    let kinds = [
        ("sleep", "asleep"),
        ("lock", "waiting for a lock or for work"),
        ("disk", "on a disk"),
        ("child", "waiting for another process"),
    ];
    let counts = kinds.into_iter().filter_map(|(on, words)| {
        let mean = view.mean(&of_target_with(metric::THREAD_WAITS, &[("on", on)]))?;
        (mean >= 0.1).then_some((words, mean))
    });
    let mut counts: Vec<_> = counts.collect();
    counts.sort_by(|a, b| b.1.total_cmp(&a.1));
    counts
}

/// Sampled thread-seconds, and requests that ended meanwhile. A wait has a series from its first sample on: where
/// threads were sampled before, it was absent.
fn observed_waits(view: &View<'_>, series: &str) -> Option<(f64, f64)> {
    let all: Vec<&str> = view.series_of(metric::THREAD_WAITS).collect();
    let was_sampled = |row: &SecondValues<'_>| all.iter().any(|series| row.get(series).is_some());
    let sampled = view.rows().filter(was_sampled);
    let observed: Vec<f64> = sampled.map(|row| row.get(series).unwrap_or(0.0)).collect();
    let requests = view.sum(plimsoll_model::window::Window::completed)?;
    (!observed.is_empty()).then(|| (observed.iter().sum(), requests as f64))
}

/// Whether each request waits longer than at a lower load, by more than chance in so few samples: the samples there
/// against those expected from the failing load's wait per request, shorter by [`GREW`].
fn grew(over: &Stretch3<'_>, series: &str) -> bool {
    let is_more = |low: &View<'_>| {
        let (observed, requests) = observed_waits(&over.failing, series)?;
        let (observed_low, requests_low) = observed_waits(low, series)?;
        let expected = observed / requests.max(1.0) / GREW * requests_low;
        Some(observed_low < expected - SURE * expected.sqrt())
    };
    is_more(&over.base).or_else(|| is_more(&over.passing)) == Some(true)
}

/// J9: most of the threads that are at work wait for one server that nothing watches, and longer than at low load, while
/// CPUs have time.
pub(crate) fn dependency(over: &Stretch3<'_>) -> Vec<Sign> {
    let view = &over.failing;
    let has_time = view.mean(metric::CPU_BUSY).is_none_or(|busy| busy < MOSTLY);
    let all = view.series_of(metric::THREAD_WAITS);
    let working =
        all.filter(|series| AT_WORK.contains(&on(series)) || !NO_SERVERS.contains(&on(series)));
    let working: f64 = working.filter_map(|series| view.mean(series)).sum();
    let signs = unwatched(view).filter_map(|(series, _)| {
        let waiting = view.mean(series)?;
        let is_most = waiting >= 1.0 && waiting > MOSTLY * working;
        Some(Sign {
            label_set: subject_of(series).to_owned(),
            magnitude: waiting,
            present: is_most && has_time && grew(over, series),
        })
    });
    signs.collect()
}

pub(crate) fn dependency_words(case: &RuleMatch<'_>) -> Words {
    let series = case.series(metric::THREAD_WAITS);
    let server = on(case.label_set);
    let each_ms = |view: &View<'_>| {
        let (observed, requests) = observed_waits(view, &series)?;
        (requests > 0.0).then(|| observed * 1e3 / requests)
    };
    let view = case.failing();
    let mut sentence = format!(
        "{:.1} of the target's threads on average waited for {server}, about {:.0} ms per request",
        view.mean(&series).unwrap_or(0.0),
        each_ms(view).unwrap_or(0.0)
    );
    if let Some(low) = each_ms(&case.over.base).or_else(|| each_ms(&case.over.passing)) {
        append_clause(&mut sentence, format_args!(" and {low:.0} ms at low load"));
    }
    append_clause(&mut sentence, format_args!("; it is not watched"));
    let asked = (
        series.as_str(),
        "wait per request, sampled once a second",
        "ms",
    );
    Words::new(format!("{server}, which the target waits for"), sentence)
        .with(case.line(&series, "threads waiting for it"))
        .with(case.over.evidence(asked, each_ms))
        .advising(format!(
            "find what limits {server}: watch it too. Here: cache its answers, batch or parallelize calls, and give \
             each call a timeout within the request's"
        ))
}
