//! Sessions of a pooler before PostgreSQL.

#[cfg(test)]
mod tests;

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::component::{place, written};
use crate::diagnosis::measure::sustained;
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::P11;
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::in_front::BEFORE_STORES;

pub(crate) const RULES: &[Rule] = &[Rule::new(
    P11,
    "pgbouncer pool size",
    &[Check {
        strength: Strength::Queue,
        tier: Tier::Store,
        symptom: Symptom::Signs(pooler),
        words: pooler_words,
        remedy: "give the pool more sessions, if the database has room",
        explains: &[BEFORE_STORES],
    }],
)];

/// The name of the subject's pool.
fn pool(label_set: &str) -> &str {
    label(label_set, "pool").unwrap_or("?")
}

fn of_pool(metric: &str, label_set: &str, state: &str) -> String {
    let labels = [
        ("at", place(label_set)),
        ("pool", pool(label_set)),
        ("state", state),
    ];
    metric::series(metric, &labels[..if state.is_empty() { 2 } else { 3 }])
}

/// P11: clients wait for a session of pgbouncer, and none is idle.
fn pooler(view: &View<'_>) -> Vec<Sign> {
    let waiting = view
        .series_of(metric::PGBOUNCER_CLIENTS)
        .filter(|series| label(series, "state") == Some("waiting"));
    let signs = waiting.filter_map(|waiting| {
        let labels = [("at", place(waiting)), ("pool", pool(waiting))];
        let label_set = metric::series("", &labels);
        let idle = of_pool(metric::PGBOUNCER_SESSIONS, &label_set, "idle");
        let share = view.share_of_seconds(|row| {
            let is_waited = row.get(waiting)? > 0.0;
            Some(is_waited && row.get(&idle).is_none_or(|idle| idle < 1.0))
        });
        sustained(&label_set, share)
    });
    signs.collect()
}

fn pooler_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let (at, label_set) = (place(case.label_set), case.label_set);
    let [clients, used] = [
        of_pool(metric::PGBOUNCER_CLIENTS, label_set, "waiting"),
        of_pool(metric::PGBOUNCER_SESSIONS, label_set, "active"),
    ];
    let wait = of_pool(metric::PGBOUNCER_WAIT, label_set, "");
    let database = pool(label_set).split('/').next().unwrap_or_default();
    let own = view.setting(at, "pool_size", database);
    let general = view.setting(at, "default_pool_size", "");
    let file = own
        .and_then(|(_, file)| file)
        .or(general.and_then(|(_, file)| file));
    let size = own.or(general).map(|(size, _)| size);
    let mut sentence = format!(
        "all {:.0} sessions of pgbouncer's pool {} were busy while up to {:.0} clients waited for one",
        size.or(view.max(&used)).unwrap_or(0.0),
        pool(label_set),
        view.max(&clients).unwrap_or(0.0)
    );
    if let Some(longest) = view.max(&wait).filter(|&longest| longest > 0.0) {
        append_clause(
            &mut sentence,
            format_args!(", the longest for {:.0} ms", longest * 1e3),
        );
    }
    let now = size.map(|now| format!(" (now {now:.0}){}", written(file)));
    Words::new(format!("pool {} of pgbouncer ({at})", pool(label_set)), sentence)
        .with(bounded(case.line(&clients, "clients waiting for a session"), Some(0.0)))
        .with(bounded(case.line(&used, "sessions in use"), size))
        .with(case.line(&wait, "longest wait of a client"))
        .advising(format!(
            "if the database has CPUs to spare, raise `pool_size` of {database} or `default_pool_size`{}, then `RELOAD` in \
             pgbouncer's console: each is a session of the database's `max_connections`. Shorter transactions, and \
             `pool_mode = transaction`, let more clients share the same sessions",
            now.unwrap_or_default()
        ))
}
