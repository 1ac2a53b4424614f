//! MongoDB, from its own metrics.

#[cfg(test)]
mod tests;

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;

use crate::diagnosis::component::{of_component, place};
use crate::diagnosis::measure::{subject_of, sustained};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::K7;
use crate::diagnosis::stretch::{SecondValues, View, bounded};
use crate::rules::in_front::BEFORE_STORES;

const KINDS: [&str; 2] = ["read", "write"];

pub(crate) const RULES: &[Rule] = &[Rule::new(
    K7,
    "MongoDB storage concurrency",
    &[Check {
        strength: Strength::Queue,
        tier: Tier::Store,
        symptom: Symptom::Signs(tickets),
        words: tickets_words,
        remedy: "find what its operations wait for",
        explains: &[BEFORE_STORES],
    }],
)
.tried_on_series()];

fn tickets_of(label_set: &str, kind: &str) -> String {
    let labels = [("at", place(label_set)), ("kind", kind)];
    metric::series(metric::MONGO_TICKETS, &labels)
}

/// K7: operations wait for a lock or a ticket, or no ticket is left.
fn tickets(view: &View<'_>) -> Vec<Sign> {
    let servers = view.series_of(metric::MONGO_QUEUE);
    let signs = servers.filter_map(|queue| {
        let label_set = subject_of(queue);
        let free = KINDS.map(|kind| tickets_of(label_set, kind));
        let is_used_up = |row: SecondValues<'_>| {
            free.iter()
                .any(|free| row.get(free).is_some_and(|free| free < 1.0))
        };
        let share = view.share_of_seconds(|row| Some(row.get(queue)? > 0.0 || is_used_up(row)));
        sustained(label_set, share)
    });
    signs.collect()
}

fn tickets_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let (at, label_set) = (place(case.label_set), case.label_set);
    let queue = of_component(metric::MONGO_QUEUE, label_set);
    let [read, write] = KINDS.map(|kind| tickets_of(label_set, kind));
    let mut sentence = format!(
        "up to {:.0} operations waited in MongoDB for a lock or for a storage engine ticket",
        view.max(&queue).unwrap_or(0.0)
    );
    let used_up = view.share_of_seconds(|row| {
        let [read, write] = [row.get(&read), row.get(&write)];
        Some(read?.min(write?) < 1.0)
    });
    if let Some(share) = used_up.filter(|&share| share > 0.0) {
        append_clause(
            &mut sentence,
            format_args!(
                "; no ticket was left in {:.0} % of the seconds",
                share * 100.0
            ),
        );
    }
    let operations = [("at", at), ("kind", "query")];
    Words::new(format!("the storage of MongoDB ({at})"), sentence)
        .with(bounded(case.line(&queue, "operations waiting"), Some(0.0)))
        .with(bounded(case.line(&read, "tickets left for reading"), Some(0.0)))
        .with(bounded(case.line(&write, "tickets left for writing"), Some(0.0)))
        .with(case.line(&metric::series(metric::MONGO_OPERATIONS, &operations), "queries, per second"))
        .with(case.line(&of_component(metric::MONGO_PAGES_READ, label_set), "pages read from files, per second"))
        .advising(
            "find what its operations wait for: `db.currentOp({ waitingForLock: true })` and `db.currentOp({ \
             secs_running: { $gte: 1 } })`; a query that scans many documents needs an index \
             (`explain(\"executionStats\")`: `totalDocsExamined` far above `nReturned`); where pages are read from \
             files, more memory (`storage.wiredTiger.engineConfig.cacheSizeGB`); more tickets only help where CPUs \
             and disks have room"
                .to_owned(),
        )
}
