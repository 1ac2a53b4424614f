//! Threads of Puma.

#[cfg(test)]
mod tests;

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::bounds::ALWAYS_BUSY;
use crate::diagnosis::component::{of_component, place};
use crate::diagnosis::measure::{SUSTAINED, of_target, of_target_with, subject_of};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::{R1, R7};
use crate::diagnosis::stretch::{SecondValues, View, bounded};
use crate::rules::in_front::BEFORE_SERVERS;

/// Share of the threads that must wait for clients, and of the CPUs that Puma may use.
const WAITING_MIN: f64 = 0.5;
const CPU_MAX: f64 = 0.5;

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        R1,
        "Puma threads and workers",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Runtime,
            symptom: Symptom::Signs(puma),
            words: puma_words,
            remedy: "give Puma more threads or workers",
            explains: &[BEFORE_SERVERS],
        }],
    ),
    Rule::new(
        R7,
        "Puma threads that wait on idle keep-alive connections",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Runtime,
            symptom: Symptom::Signs(keep_alive),
            words: keep_alive_words,
            remedy: "close the connections behind the proxy, or give Puma more threads",
            explains: &[BEFORE_SERVERS, &[R1]],
        }],
    ),
];

/// Requests that wait for Puma: its backlog, plus, where it is the target, connections not yet accepted, which wait
/// in the kernel.
fn waiting(row: SecondValues<'_>, view: &View<'_>, backlog: &str) -> Option<f64> {
    let listeners = view.series_of(metric::LISTEN_QUEUE);
    let own = listeners.filter(|series| label(series, "process") == Some(metric::TARGET));
    let in_kernel: f64 = own.filter_map(|series| row.get(series)).sum();
    Some(row.get(backlog)? + in_kernel)
}

/// R1: all threads of Puma are used, and requests wait for one.
fn puma(view: &View<'_>) -> Vec<Sign> {
    let servers = view.series_of(metric::PUMA_BACKLOG);
    let signs = servers.filter_map(|backlog| {
        let label_set = subject_of(backlog);
        let capacity = of_component(metric::PUMA_CAPACITY, label_set);
        let full = view.share_of_seconds(|row| Some(row.get(&capacity)? < 1.0))?;
        let waited = view.share_of_seconds(|row| {
            Some(row.get(&capacity)? < 1.0 && waiting(row, view, backlog)? > 0.0)
        })?;
        Some(Sign {
            label_set: label_set.to_owned(),
            magnitude: full,
            present: waited >= SUSTAINED || full >= ALWAYS_BUSY,
        })
    });
    signs.collect()
}

fn puma_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let [backlog, capacity, requests] = [
        metric::PUMA_BACKLOG,
        metric::PUMA_CAPACITY,
        metric::PUMA_REQUESTS,
    ]
    .map(|metric| of_component(metric, case.label_set));
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

/// Threads of the target that wait for a client, on average, where threads were sampled.
fn waiting_for_clients(view: &View<'_>) -> Option<f64> {
    view.mean(&of_target_with(metric::THREAD_WAITS, &[("on", "clients")]))
}

/// R7: all threads of Puma are used, but most of them wait for the next request of a connection, while it leaves CPUs idle: Puma
/// lets a thread wait 0.2 s for it before the connection goes to the reactor.
fn keep_alive(view: &View<'_>) -> Vec<Sign> {
    let servers: Vec<&str> = view.series_of(metric::PUMA_BACKLOG).collect();
    // The samples are of the target's threads: of several servers it is not known which one they are of.
    let [backlog] = servers[..] else {
        return Vec::new();
    };
    let sign = || {
        let label_set = subject_of(backlog);
        let capacity = of_component(metric::PUMA_CAPACITY, label_set);
        let (threads, _) = view.setting(place(label_set), "threads", "")?;
        let full = view.share_of_seconds(|row| Some(row.get(&capacity)? < 1.0))?;
        let waiting = waiting_for_clients(view)?;
        let is_idle = view.mean(&of_target(metric::PROCESS_CPU))? < CPU_MAX;
        Some(Sign {
            label_set: label_set.to_owned(),
            magnitude: waiting / threads.max(1.0),
            present: full >= SUSTAINED && is_idle && waiting >= WAITING_MIN * threads.max(1.0),
        })
    };
    sign().into_iter().collect()
}

fn keep_alive_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let [capacity, requests] = [metric::PUMA_CAPACITY, metric::PUMA_REQUESTS]
        .map(|metric| of_component(metric, case.label_set));
    let threads = view
        .setting(at, "threads", "")
        .map_or(0.0, |(threads, _)| threads);
    let waiting = waiting_for_clients(view).unwrap_or(0.0);
    let mut sentence = format!(
        "all {threads:.0} threads of Puma were taken, but {waiting:.1} of them on average waited for the next request of a \
         client that had sent none, and Puma used {:.0} % of the CPUs",
        view.mean(&of_target(metric::PROCESS_CPU)).unwrap_or(0.0) * 100.0
    );
    if let Some(rate) = view.mean(&requests).filter(|&rate| rate > 0.0) {
        append_clause(
            &mut sentence,
            format_args!(
                ": each request took a thread for {:.0} ms",
                threads / rate * 1e3
            ),
        );
    }
    let series = of_target_with(metric::THREAD_WAITS, &[("on", "clients")]);
    Words::new(format!("threads of Puma that wait on idle connections ({at})"), sentence)
        .with(bounded(
            case.line(&series, "threads that wait for a client"),
            Some(WAITING_MIN * threads),
        ))
        .with(case.line(&capacity, "free capacity, in requests"))
        .with(case.line(&requests, "requests served, per second"))
        .with(case.line(&of_target(metric::PROCESS_CPU), "share of the CPUs that Puma used"))
        .advising(
            "a thread waits 0.2 s for the next request of a kept-alive connection (FAST_TRACK_KA_TIMEOUT of Puma 5 and 6) before \
             it serves others: let few connections carry many requests (a proxy in front with a small `keepalive` of its \
             upstream, or `proxy_http_version 1.0` to close each), set `max_fast_inline 1` in config/puma.rb, so that a thread \
             goes on to waiting requests, or add threads: they only wait, and cost memory and sessions of pools, not CPU"
                .to_owned(),
        )
}
