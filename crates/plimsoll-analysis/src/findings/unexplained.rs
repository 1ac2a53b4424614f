//! Where the time of a request goes, as far as it is watched: by Little's law, the mean number of requests in a
//! component, divided by the requests per second, is the time of one request there.

use plimsoll_model::histogram::Histogram;
use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::measure::of_target;
use crate::diagnosis::statements::most_of;
use crate::diagnosis::stretch::View;
use crate::rules::thread_waits;

/// Share of the time outside watched components from which it counts as unexplained.
const SHARE_MIN: f64 = 0.2;
/// Most known shares that are listed.
const KNOWN_MAX: usize = 4;
/// Name of the wait in accept queues, and its share of the time from which workers are too few.
const ACCEPT_QUEUES: &str = "in accept queues";
const CROWDED_MIN: f64 = 0.4;
/// Shorter times do not count as waiting, s.
const TIME_MIN: f64 = 0.001;

/// A clause about the unexplained time: `62 ms of the 80 ms of each request are spent waiting outside
/// anything watched (…)`; where watched components explain it, their shares. `None` where it is unknown.
pub(super) fn time(view: &View<'_>) -> Option<String> {
    let mut service = Histogram::new();
    let mut answers = 0;
    for window in view.windows() {
        service.merge(&window.service);
        answers += window.completed();
    }
    let whole_s = service.mean()? / 1e6;
    let per_second = answers as f64 / view.windows().len().max(1) as f64;
    if per_second <= 0.0 {
        return None;
    }
    let mut known: Vec<(String, f64)> = busy(view)
        .into_iter()
        .map(|(name, busy)| (name, busy / per_second))
        .filter(|(_, time_s)| *time_s >= TIME_MIN / 10.0)
        .collect();
    known.sort_by(|a, b| b.1.total_cmp(&a.1));
    let explained: f64 = known.iter().map(|(_, time_s)| time_s).sum();
    let left_s = whole_s - explained;
    let shares: Vec<String> = known
        .iter()
        .take(KNOWN_MAX)
        .map(|(name, time_s)| format!("{} {name}", millis(*time_s)))
        .collect();
    let crowded = crowded(&known, whole_s);
    if left_s < TIME_MIN || left_s < SHARE_MIN * whole_s {
        let (whole, shares) = (millis(whole_s), shares.join(", "));
        return Some(format!("of the {whole} of each request, {shares}{crowded}"));
    }
    let threads: Vec<String> = thread_waits::otherwise(view)
        .into_iter()
        .map(|(what, count)| format!("{count:.1} {what}"))
        .collect();
    let goroutines = view.series_of(metric::GO_GOROUTINES_AT);
    let goroutines = most_of(view, goroutines, "of");
    let goroutines = goroutines.filter(|(_, count)| *count >= 1.0);
    let goroutines = goroutines.map_or(String::new(), |(of, count)| {
        format!("; {count:.0} goroutines were in {of}")
    });
    let threads = if threads.is_empty() {
        String::new()
    } else {
        format!("; the target's threads, on average: {}", threads.join(", "))
    };
    let rest = if shares.is_empty() {
        "no watched component took part".to_owned()
    } else {
        format!("of the rest, {}", shares.join(", "))
    };
    Some(format!(
        "{} of the {} of each request are spent waiting outside anything watched: a lock, a sleep, a remote call \
         ({rest}{threads}{goroutines}){crowded}",
        millis(left_s),
        millis(whole_s)
    ))
}

/// The conclusion when requests spend most of their time before their connection is accepted.
fn crowded(known: &[(String, f64)], whole_s: f64) -> &'static str {
    let before = known.iter().find(|(name, _)| name == ACCEPT_QUEUES);
    match before {
        Some((_, time_s)) if *time_s >= CROWDED_MIN * whole_s => {
            "; connections wait long to be accepted: all workers or threads are busy, and more of them help while CPU \
             is left"
        }
        _ => "",
    }
}

fn millis(time_s: f64) -> String {
    let ms = time_s * 1e3;
    if ms < 10.0 {
        format!("{ms:.1} ms")
    } else {
        format!("{ms:.0} ms")
    }
}

/// What was busy with requests, on average, or held them: how many at once.
fn busy(view: &View<'_>) -> Vec<(String, f64)> {
    let mut busy = Vec::new();
    let cpus = view.mean(metric::CPU_COUNT);
    if let (Some(share), Some(cpus)) = (view.mean(&of_target(metric::PROCESS_CPU)), cpus) {
        busy.push(("CPU of the target".to_owned(), share * cpus));
    }
    if let Some(waited) = view.mean(&of_target(metric::PROCESS_CPU_WAIT)) {
        busy.push(("waiting for a CPU".to_owned(), waited));
    }
    let mut add = |metric: &'static str, with: Option<(&str, &str)>, own: f64, what: &str| {
        let series = view.series_of(metric);
        let series = series
            .filter(|series| with.is_none_or(|(key, value)| label(series, key) == Some(value)));
        let found: Vec<f64> = series.filter_map(|series| view.mean(series)).collect();
        if !found.is_empty() {
            let sum = found.iter().map(|level| (level - own).max(0.0)).sum();
            busy.push((what.to_owned(), sum));
        }
    };
    add(
        metric::POSTGRES_SESSIONS,
        Some(("state", "active")),
        0.0,
        "in PostgreSQL",
    );
    // The collector's own session is one of them.
    add(metric::MYSQL_SESSIONS_RUNNING, None, 1.0, "in MariaDB");
    add(metric::REDIS_MAIN_THREAD, None, 0.0, "in Redis");
    add(metric::HAPROXY_QUEUE, None, 0.0, "in HAProxy's queues");
    add(metric::PHP_FPM_QUEUE, None, 0.0, "before PHP-FPM");
    add(metric::PUMA_BACKLOG, None, 0.0, "before Puma");
    add(metric::LISTEN_QUEUE, None, 0.0, ACCEPT_QUEUES);
    for (series, server) in thread_waits::unwatched(view) {
        let waiting = view.mean(series).unwrap_or(0.0);
        busy.push((format!("waiting for {server}"), waiting));
    }
    busy
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use plimsoll_model::outcome::Outcome;
    use plimsoll_model::reading::{Readings, SeriesTable};
    use plimsoll_model::window::Window;

    use super::super::{Context, Stretches};
    use super::*;
    use crate::diagnosis::measure::of_target_with;
    use crate::diagnosis::stretch::Stretch3;
    use crate::machines::tables;

    /// Ten seconds of 100 answers, each after 80 ms.
    fn explain(values: &[(String, f64)]) -> Option<String> {
        let mut readings = SeriesTable::default();
        let mut windows = Vec::new();
        for second in 0..10 {
            readings.push(&Readings {
                second,
                values: values.iter().cloned().collect(),
                new_series: BTreeMap::new(),
            });
            let mut window = Window::new(second);
            window.service.record(80_000, 100);
            window.outcomes.add_many(Outcome::Ok, 100);
            windows.push(window);
        }
        let stretches = Stretches {
            failing: Some((0, 10)),
            ..Stretches::default()
        };
        let context = Context {
            target: "127.0.0.1:80".to_owned(),
            bound_us: None,
            open: true,
            robbed: false,
        };
        let machines = tables(&readings);
        let all = Stretch3::on_each(&machines, &windows, &stretches, &context);
        time(&all[0].failing)
    }

    fn sessions(active: f64) -> (String, f64) {
        let labels = [("at", "/run/pg"), ("state", "active")];
        (metric::series(metric::POSTGRES_SESSIONS, &labels), active)
    }

    #[test]
    fn what_nothing_explains_is_waiting() {
        // 0.25 of four CPUs for 100 requests a second are 10 ms of each; 0.8 sessions 8 ms.
        let values = [
            (metric::CPU_COUNT.to_owned(), 4.0),
            (of_target(metric::PROCESS_CPU), 0.25),
            (of_target(metric::PROCESS_CPU_WAIT), 0.0),
            sessions(0.8),
        ];
        let sentence = explain(&values).unwrap();
        assert!(
            sentence.starts_with(
                "62 ms of the 80 ms of each request are spent waiting outside anything watched"
            ),
            "{sentence}"
        );
        assert!(
            sentence.contains("of the rest, 10 ms CPU of the target, 8.0 ms in PostgreSQL"),
            "{sentence}"
        );
        let sentence = explain(&[]).unwrap();
        assert!(sentence.starts_with("80 ms of the 80 ms"), "{sentence}");
    }

    #[test]
    fn threads_tell_for_whom_they_wait() {
        let waits = |on, threads| (of_target_with(metric::THREAD_WAITS, &[("on", on)]), threads);
        let values = [
            waits("10.0.0.3:9200", 5.0),
            waits("sleep", 2.0),
            waits("accept", 9.0),
        ];
        let sentence = explain(&values).unwrap();
        for expected in [
            "30 ms of the 80 ms of each request",
            "50 ms waiting for 10.0.0.3:9200",
            "the target's threads, on average: 2.0 asleep)",
        ] {
            assert!(sentence.contains(expected), "{sentence}");
        }
    }

    #[test]
    fn what_is_explained_is_not_waiting() {
        let sentence = explain(&[sessions(7.5)]).unwrap();
        assert_eq!(
            sentence,
            "of the 80 ms of each request, 75 ms in PostgreSQL"
        );
    }

    #[test]
    fn who_waits_to_be_taken_waits_for_workers() {
        let labels = [("listener", "127.0.0.1:80"), ("process", metric::TARGET)];
        let queue = |length| (metric::series(metric::LISTEN_QUEUE, &labels), length);
        let expected = "; connections wait long to be accepted";
        let sentence = explain(&[queue(5.0)]).unwrap();
        assert!(sentence.contains(expected), "{sentence}");
        let sentence = explain(&[queue(1.0)]).unwrap();
        assert!(!sentence.contains(expected), "{sentence}");
    }
}
