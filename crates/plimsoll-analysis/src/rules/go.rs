//! Rules about Go programs, from their own metrics.

#[cfg(test)]
mod tests;

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;

use crate::diagnosis::component::{of_component, place};
use crate::diagnosis::measure::{SUSTAINED, mebibytes, subject_of, sustained};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words};
use crate::diagnosis::rule_id::RuleId::{C1, C3, R5};
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::in_front::BEFORE_PROGRAMS;

/// Share of its CPU that Go's collector may take, and how long goroutines may wait for a thread, s.
const GO_GC_SHARE: f64 = 0.25;
const GO_DELAY_S: f64 = 0.010;

pub(crate) const RULES: &[Rule] = &[Rule::new(
    R5,
    "Go scheduler/GC",
    &[
        Check {
            strength: Strength::Queue,
            tier: Tier::Runtime,
            symptom: Symptom::Signs(go_collector),
            words: go_collector_words,
            remedy: "let the heap grow further between collections: raise `GOGC` (100 without \
                 it), or set `GOGC=off` with `GOMEMLIMIT` below the available memory; allocate \
                 less per request: `go tool pprof http://…/debug/pprof/allocs` shows where",
            explains: &[BEFORE_PROGRAMS, &[C1, C3]],
        },
        Check {
            strength: Strength::Queue,
            tier: Tier::Runtime,
            symptom: Symptom::Signs(go_scheduler),
            words: go_scheduler_words,
            remedy: "set GOMAXPROCS to the number of CPUs or to the quota of the program",
            explains: &[BEFORE_PROGRAMS, &[C3]],
        },
    ],
)];

/// R5: Go's collector takes a quarter of the CPU that the program may use.
fn go_collector(view: &View<'_>) -> Vec<Sign> {
    let programs = view.series_of(metric::GO_GC_SHARE);
    let signs = programs.filter_map(|series| {
        let share = view.share_of_seconds(|row| Some(row.get(series)? > GO_GC_SHARE))?;
        Some(Sign {
            label_set: subject_of(series).to_owned(),
            magnitude: view.mean(series)?,
            present: share >= SUSTAINED,
        })
    });
    signs.collect()
}

fn go_collector_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let (at, label_set) = (place(case.label_set), case.label_set);
    let [share, count, heap] = [metric::GO_GC_SHARE, metric::GO_GC_COUNT, metric::GO_HEAP]
        .map(|metric| of_component(metric, label_set));
    Words::new(
        format!("the garbage collector of the Go program ({at})"),
        format!(
            "the garbage collector of the Go program took {:.0} % of the CPU available to it, in {:.0} collections a \
             second of a heap of {:.0} MiB",
            view.mean(&share).unwrap_or(0.0) * 100.0,
            view.mean(&count).unwrap_or(0.0),
            mebibytes(view.max(&heap).unwrap_or(0.0))
        ),
    )
    .with(bounded(case.line(&share, "collector's share of its CPU"), Some(GO_GC_SHARE)))
    .with(case.line(&count, "collections, per second"))
    .with(case.line(&heap, "heap"))
}

/// R5: goroutines that could run wait for a thread.
fn go_scheduler(view: &View<'_>) -> Vec<Sign> {
    let programs = view.series_of(metric::GO_SCHEDULER_DELAY);
    let signs = programs.filter_map(|series| {
        let share = view.share_of_seconds(|row| Some(row.get(series)? > GO_DELAY_S));
        sustained(subject_of(series), share)
    });
    signs.collect()
}

fn go_scheduler_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let (at, label_set) = (place(case.label_set), case.label_set);
    let [delay, all] = [metric::GO_SCHEDULER_DELAY, metric::GO_GOROUTINES]
        .map(|metric| of_component(metric, label_set));
    let threads = view
        .setting(at, "GOMAXPROCS", "")
        .map(|(threads, _)| threads);
    let of_them = threads.map_or(String::new(), |threads| {
        format!(" on {threads:.0} threads (GOMAXPROCS)")
    });
    let now = threads.map_or(String::new(), |threads| format!(" (now {threads:.0})"));
    Words::new(
        format!("the scheduler of the Go program ({at})"),
        format!(
            "1 % of the runnable goroutines waited more than {:.0} ms for a thread; there were up to {:.0} \
             goroutines{of_them}",
            view.mean(&delay).unwrap_or(0.0) * 1e3,
            view.max(&all).unwrap_or(0.0)
        ),
    )
    .with(bounded(case.line(&delay, "wait for a thread, 99th percentile"), Some(GO_DELAY_S)))
    .with(case.line(&all, "goroutines"))
    .with(case.line(metric::CPU_BUSY, "share of all CPUs that was busy"))
    .advising(format!(
        "set `GOMAXPROCS`{now} to the number of CPUs or to the quota (Go does so by itself from 1.25 on), give it more \
         CPUs, and let fewer requests compute at once; `go tool pprof http://…/debug/pprof/profile` shows what computes"
    ))
}
