//! The thread pool of .NET.

#[cfg(test)]
mod tests;

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;

use crate::diagnosis::component::{of_component, place};
use crate::diagnosis::measure::{SUSTAINED, subject_of};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words};
use crate::diagnosis::rule_id::RuleId::R6;
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::in_front::BEFORE_PROGRAMS;

/// Threads by which .NET's pool grows within a stretch where it is starved: it adds one or two a second.
const CLIMB_MIN: f64 = 2.0;

pub(crate) const RULES: &[Rule] = &[Rule::new(
    R6,
    ".NET thread-pool starvation",
    &[Check {
        strength: Strength::Queue,
        tier: Tier::Runtime,
        symptom: Symptom::Signs(dotnet),
        words: dotnet_words,
        remedy: "find what blocks its threads (`dotnet-stack report`, `dotnet-counters \
                 monitor`): `.Result`, `.Wait()`, synchronous I/O; make it asynchronous all the \
                 way down; until then `DOTNET_ThreadPool_MinThreads` (in hexadecimal) or \
                 `ThreadPool.SetMinThreads` lets it start with more",
        explains: &[BEFORE_PROGRAMS],
    }],
)
.tried_on_series()];

/// R6: tasks wait for .NET's pool, which adds threads all the time: those that it has are blocked.
fn dotnet(view: &View<'_>) -> Vec<Sign> {
    let programs = view.series_of(metric::DOTNET_QUEUE);
    let signs = programs.filter_map(|queue| {
        let threads = view.points(&of_component(metric::DOTNET_THREADS, subject_of(queue)));
        let climb = threads.last()?.1 - threads.first()?.1;
        let waited = view.share_of_seconds(|row| Some(row.get(queue)? > 0.0))?;
        Some(Sign {
            label_set: subject_of(queue).to_owned(),
            magnitude: view.mean(queue)?,
            present: waited >= SUSTAINED && climb >= CLIMB_MIN,
        })
    });
    signs.collect()
}

fn dotnet_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let [queue, threads] = [metric::DOTNET_QUEUE, metric::DOTNET_THREADS]
        .map(|metric| of_component(metric, case.label_set));
    Words::new(
        format!("threads of .NET's pool ({at})"),
        format!(
            "up to {:.0} tasks waited for a thread of .NET's pool, which grew from {:.0} to {:.0} threads and still \
             had too few: its threads are blocked",
            view.max(&queue).unwrap_or(0.0),
            view.min(&threads).unwrap_or(0.0),
            view.max(&threads).unwrap_or(0.0)
        ),
    )
    .with(bounded(case.line(&queue, "tasks waiting for a thread"), Some(0.0)))
    .with(case.line(&threads, "threads of the pool"))
}
