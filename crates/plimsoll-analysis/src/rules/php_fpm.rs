//! Rules about application runtimes, from their own metrics.

use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::component::{place, written};
use crate::diagnosis::measure::{SUSTAINED, subject_of};
use crate::diagnosis::rule::{RuleMatch, Sign, Words, append_clause};
use crate::diagnosis::statements::most_of;
use crate::diagnosis::stretch::{SecondValues, View, bounded};

/// Share of the time from which an event loop has nothing to spare.
const LOOP_BUSY: f64 = 0.95;
/// How long things may wait for it, s; or this share of the tightest bound.
const LATE_MIN_S: f64 = 0.050;
const LATE_SHARE: f64 = 0.25;

/// The failure class of PHP-FPM's slow log.
const SLOW: &str = "slow";

fn of(metric: &str, label_set: &str) -> String {
    metric::series(metric, &[("at", place(label_set))])
}

fn processes(label_set: &str, state: &str) -> String {
    let labels = [("at", place(label_set)), ("state", state)];
    metric::series(metric::PHP_FPM_PROCESSES, &labels)
}

/// Adds in which share of the seconds a server had nobody to serve its own status page.
pub(crate) fn append_unserved(sentence: &mut String, share: Option<f64>) {
    if let Some(share) = share.filter(|&share| share > 0.0) {
        append_clause(
            sentence,
            format_args!(
                "; in {:.0} % of the seconds none was free to serve the status page",
                share * 100.0
            ),
        );
    }
}

/// R3: all processes of PHP-FPM are busy: requests wait, `max_children` was reached, or none was free to serve the
/// status page.
pub(crate) fn php_fpm(view: &View<'_>) -> Vec<Sign> {
    let pools = view.series_of(metric::PHP_FPM_SILENT);
    let signs = pools.filter_map(|silent| {
        let label_set = subject_of(silent);
        let (queue, idle) = (
            of(metric::PHP_FPM_QUEUE, label_set),
            processes(label_set, "idle"),
        );
        let share = view.share_of_seconds(|row| {
            let is_full = row.get(&idle).is_some_and(|idle| idle < 1.0);
            let is_waited = row.get(&queue).is_some_and(|queue| queue > 0.0);
            Some(row.get(silent)? > 0.0 || is_full && is_waited)
        })?;
        let wanted = view
            .mean(&of(metric::PHP_FPM_AT_LIMIT, label_set))
            .unwrap_or(0.0);
        Some(Sign {
            label_set: label_set.to_owned(),
            magnitude: share,
            // With processes started on demand, the first time that the limit is reached is significant.
            present: share >= SUSTAINED || wanted > 0.0 && share > 0.0,
        })
    });
    signs.collect()
}

pub(crate) fn php_fpm_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let (at, label_set) = (place(case.label_set), case.label_set);
    let setting = view.setting(at, "pm.max_children", "");
    let silent = of(metric::PHP_FPM_SILENT, label_set);
    let queue = of(metric::PHP_FPM_QUEUE, label_set);
    let all = setting
        .map(|(now, _)| now)
        .or(view.max(&processes(label_set, "all")));
    let mut sentence = match all {
        Some(all) => format!("all {all:.0} processes of PHP-FPM were busy"),
        None => "all processes of PHP-FPM were busy".to_owned(),
    };
    if let Some(waiting) = view.max(&queue).filter(|&waiting| waiting > 0.0) {
        append_clause(
            &mut sentence,
            format_args!(" while up to {waiting:.0} requests waited for one"),
        );
    }
    append_unserved(&mut sentence, view.mean(&silent));
    let now = setting.map(|(now, file)| format!(" (now {now:.0}){}", written(file)));
    Words::new(format!("pm.max_children of PHP-FPM ({at})"), sentence)
        .with(case.line(&processes(label_set, "active"), "processes serving a request"))
        .with(bounded(case.line(&queue, "requests waiting for a process"), Some(0.0)))
        .with(case.line(&silent, "share of the seconds with none free to serve the status page"))
        .with(case.line(
            &of(metric::PHP_FPM_AT_LIMIT, label_set),
            "times max_children was reached, per second",
        ))
        .advising(format!(
            "first find what its requests wait for (`request_slowlog_timeout = 1s`, `slowlog`); if the CPUs have room, \
             raise `pm.max_children`{}, at most to memory divided by the size of one process (`ps -o rss -C php-fpm`), \
             and reload PHP-FPM",
            now.unwrap_or_default()
        ))
}

/// A place in a script from a slow log, and its failures per second.
fn slowest_call<'a>(view: &View<'a>) -> Option<(&'a str, f64)> {
    let own = view
        .series_of(metric::LOG_FAILURES_OF)
        .filter(|series| label(series, "class") == Some(SLOW));
    most_of(view, own, "of")
}

/// R4: requests took longer than `request_slowlog_timeout`, as PHP-FPM counts them; or, where it is not scraped, as
/// its log shows.
pub(crate) fn php_slow(view: &View<'_>) -> Vec<Sign> {
    let counted: Vec<&str> = view.series_of(metric::PHP_FPM_SLOW).collect();
    let written = view
        .series_of(metric::LOG_FAILURES)
        .filter(|series| counted.is_empty() && label(series, "class") == Some(SLOW));
    let signs = written.chain(counted.iter().copied()).filter_map(|series| {
        let per_second = view.mean(series)?;
        let label_set = metric::series("", &[("at", place(series))]);
        Some(Sign::of(&label_set, per_second, per_second > 0.0))
    });
    signs.collect()
}

pub(crate) fn php_slow_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let counted = of(metric::PHP_FPM_SLOW, case.label_set);
    let written = metric::series(metric::LOG_FAILURES, &[("at", at), ("class", SLOW)]);
    let per_second = view.mean(&counted).or(view.mean(&written)).unwrap_or(0.0);
    let mut sentence = format!(
        "{:.0} requests a minute took longer than the `request_slowlog_timeout` of PHP-FPM",
        (per_second * 60.0).max(1.0)
    );
    let call = slowest_call(view);
    match call {
        Some((call, count)) => append_clause(
            &mut sentence,
            format_args!(
                "; {:.0} % of them were in {call}",
                (count * 100.0 / per_second.max(f64::MIN_POSITIVE)).min(100.0)
            ),
        ),
        None => append_clause(
            &mut sentence,
            format_args!("; its `slowlog` shows where they were"),
        ),
    }
    let label = "requests that took longer than `request_slowlog_timeout`, per second";
    let limit = call.map_or("a slow call".to_owned(), |(call, _)| {
        format!("a slow call, {call},")
    });
    Words::new(format!("{limit} in PHP ({at})"), sentence)
        .with(case.line(&counted, label))
        .with(case.line(&written, label))
        .advising(
            "find what that call waits for: a database statement, another service, a file; give it a timeout, cache \
             its result, or move it out of the request"
                .to_owned(),
        )
}

/// J1: the event loop of Node has nothing to spare, or lets everything wait.
pub(crate) fn node(view: &View<'_>) -> Vec<Sign> {
    let bound_s = view
        .context
        .bound_us
        .map_or(0.0, |bound| bound as f64 / 1e6);
    let late_s = LATE_MIN_S.max(LATE_SHARE * bound_s);
    let processes = view.series_of(metric::NODE_DELAY);
    let signs = processes.filter_map(|delay| {
        let label_set = subject_of(delay);
        let active = of(metric::NODE_ACTIVE, label_set);
        let share = view.share_of_seconds(|row| {
            let is_busy = row.get(&active).is_some_and(|active| active > LOOP_BUSY);
            Some(is_busy || row.get(delay)? > late_s)
        })?;
        Some(Sign {
            label_set: label_set.to_owned(),
            magnitude: share,
            present: share >= SUSTAINED,
        })
    });
    signs.collect()
}

pub(crate) fn node_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let [delay, active] =
        [metric::NODE_DELAY, metric::NODE_ACTIVE].map(|metric| of(metric, case.label_set));
    let at = place(case.label_set);
    Words::new(
        format!("the event loop of Node ({at})"),
        format!(
            "the event loop of Node was busy {:.0} % of the time and delayed callbacks by up to {:.0} ms",
            (view.mean(&active).unwrap_or(0.0) * 100.0).min(100.0),
            view.max(&delay).unwrap_or(0.0) * 1e3
        ),
    )
    .with(bounded(case.line(&active, "busy time of the event loop, per second"), Some(LOOP_BUSY)))
    .with(case.line(&delay, "longest delay of the event loop"))
}

/// Share of the seconds with all threads busy from which they are a limit, even if no queue is visible.
const ALWAYS: f64 = 0.8;

/// Requests that wait for Puma: its backlog, plus, where it is the target, connections not yet accepted, which wait
/// in the kernel.
fn waiting(row: SecondValues<'_>, view: &View<'_>, backlog: &str) -> Option<f64> {
    let listeners = view.series_of(metric::LISTEN_QUEUE);
    let own = listeners.filter(|series| label(series, "process") == Some(metric::TARGET));
    let in_kernel: f64 = own.filter_map(|series| row.get(series)).sum();
    Some(row.get(backlog)? + in_kernel)
}

/// R1: all threads of Puma are used, and requests wait for one.
pub(crate) fn puma(view: &View<'_>) -> Vec<Sign> {
    let servers = view.series_of(metric::PUMA_BACKLOG);
    let signs = servers.filter_map(|backlog| {
        let label_set = subject_of(backlog);
        let capacity = of(metric::PUMA_CAPACITY, label_set);
        let full = view.share_of_seconds(|row| Some(row.get(&capacity)? < 1.0))?;
        let waited = view.share_of_seconds(|row| {
            Some(row.get(&capacity)? < 1.0 && waiting(row, view, backlog)? > 0.0)
        })?;
        Some(Sign {
            label_set: label_set.to_owned(),
            magnitude: full,
            present: waited >= SUSTAINED || full >= ALWAYS,
        })
    });
    signs.collect()
}

pub(crate) fn puma_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let [backlog, capacity, requests] = [
        metric::PUMA_BACKLOG,
        metric::PUMA_CAPACITY,
        metric::PUMA_REQUESTS,
    ]
    .map(|metric| of(metric, case.label_set));
    let threads = view.setting(at, "threads", "").map(|(threads, _)| threads);
    let workers = view
        .setting(at, "workers", "")
        .map_or(1.0, |(workers, _)| workers);
    let mut sentence = format!(
        "all{} threads of Puma were busy",
        threads
            .map(|threads| format!(" {threads:.0}"))
            .unwrap_or_default()
    );
    if workers > 1.0 {
        append_clause(&mut sentence, format_args!(", in {workers:.0} workers,"));
    }
    let most = view
        .rows()
        .filter_map(|row| waiting(row, view, &backlog))
        .fold(0.0, f64::max);
    if most > 0.0 {
        append_clause(
            &mut sentence,
            format_args!(" while up to {most:.0} requests and connections waited for one"),
        );
    }
    let waiting = case.over.evidence(
        (
            &backlog,
            "requests and connections waiting for a thread",
            "{request}",
        ),
        |view| {
            let all: Vec<f64> = view
                .rows()
                .filter_map(|row| waiting(row, view, &backlog))
                .collect();
            (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
        },
    );
    Words::new(format!("threads of Puma ({at})"), sentence)
        .with(bounded(waiting, Some(0.0)))
        .with(case.line(&capacity, "free capacity, in requests"))
        .with(case.line(&requests, "requests served, per second"))
        .advising(format!(
            "if the CPUs have room, add threads where requests mostly wait (`threads` in config/puma.rb, or -t; now \
             {:.0} in all), or workers where they compute (`workers`, or -w; now {workers:.0}); connection pools \
             must hold as many connections as a worker has threads",
            threads.unwrap_or(0.0)
        ))
}
