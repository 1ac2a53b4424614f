//! Threads of Puma.

#[cfg(test)]
mod tests;

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::bounds::ALWAYS_BUSY;
use crate::diagnosis::component::{of_component, place};
use crate::diagnosis::measure::{SUSTAINED, subject_of};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::R1;
use crate::diagnosis::stretch::{SecondValues, View, bounded};
use crate::rules::in_front::BEFORE_SERVERS;

pub(crate) const RULES: &[Rule] = &[Rule::new(
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
)];

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
