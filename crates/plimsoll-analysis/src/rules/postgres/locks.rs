//! Sessions of PostgreSQL that wait for each other.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;

use crate::diagnosis::component::{of_component, place};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::{P1, P3, P4, P11, P12};
use crate::diagnosis::statements::most;
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::databases::append_statement;
use crate::rules::in_front::BEFORE_STORES;
use crate::rules::postgres::{WaitLabels, wait_words, waits};

/// Shares of the active sessions that wait, above which it is a limit.
const LOCK_MAX: f64 = 0.10;
const LIGHT_LOCK_MAX: f64 = 0.20;
pub(crate) const LOCK: WaitLabels = &[("wait", "lock")];
const LIGHT_LOCK: WaitLabels = &[("wait", "lwlock")];

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        P3,
        "row/table/advisory lock",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Store,
            symptom: Symptom::Signs(locks),
            words: locks_words,
            remedy: "make transactions shorter, take locks in one order, split rows that all \
                 transactions write, or put the writes in a queue",
            explains: &[BEFORE_STORES, &[P11, P1, P4]],
        }],
    ),
    Rule::new(
        P4,
        "internal lock of PostgreSQL",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Store,
            symptom: Symptom::Signs(light_locks),
            words: light_locks_words,
            remedy: "use fewer sessions at once, partition the table, or commit in batches",
            explains: &[BEFORE_STORES, &[P11, P1]],
        }],
    )
    .tried_on_series(),
    Rule::new(
        P12,
        "deadlocks",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Store,
            symptom: Symptom::Increase {
                metric: metric::POSTGRES_DEADLOCKS,
            },
            words: deadlocks_words,
            remedy: "let all transactions take their locks in one order",
            explains: &[],
        }],
    ),
];

/// P3: sessions wait for each other's locks.
pub(crate) fn locks(view: &View<'_>) -> Vec<Sign> {
    waits(view, LOCK, LOCK_MAX)
}

fn locks_words(case: &RuleMatch<'_>) -> Words {
    let waited = of_component(metric::POSTGRES_LOCKS_WAITED, case.label_set);
    let mut words = wait_words(
        case,
        "locks",
        "for a lock held by another session",
        LOCK,
        LOCK_MAX,
    )
    .with(case.line(&waited, "contended locks"));
    append_statement(
        &mut words.sentence,
        case,
        metric::POSTGRES_WAITING,
        "most of them to execute",
    );
    append_statement(
        &mut words.sentence,
        case,
        metric::POSTGRES_BLOCKING,
        "the holder's current or last statement",
    );
    words
}

/// P4.
fn light_locks(view: &View<'_>) -> Vec<Sign> {
    waits(view, LIGHT_LOCK, LIGHT_LOCK_MAX)
}

fn light_locks_words(case: &RuleMatch<'_>) -> Words {
    let mut words = wait_words(
        case,
        "internal locks",
        "for an internal lock",
        LIGHT_LOCK,
        LIGHT_LOCK_MAX,
    );
    let events = most(
        case.failing(),
        metric::POSTGRES_ACTIVE,
        place(case.label_set),
        "event",
    );
    let internal = events.iter().find(|(event, _)| *event != "DataFileRead");
    if let Some((event, _)) = internal {
        append_clause(&mut words.sentence, format_args!(", most of all {event}"));
    }
    words
}

/// P12.
fn deadlocks_words(case: &RuleMatch<'_>) -> Words {
    let deadlocks = case.series(metric::POSTGRES_DEADLOCKS);
    let per_minute = case.failing().mean(&deadlocks).unwrap_or(0.0) * 60.0;
    let mut sentence = format!(
        "PostgreSQL resolved {:.0} deadlocks a minute",
        per_minute.max(1.0)
    );
    append_statement(
        &mut sentence,
        case,
        metric::POSTGRES_WAITING,
        "most frequent waiting statement",
    );
    Words::new(
        format!("deadlocks in PostgreSQL ({})", place(case.label_set)),
        sentence,
    )
    .with(bounded(
        case.line(&deadlocks, "deadlocks, per second"),
        Some(0.0),
    ))
}
