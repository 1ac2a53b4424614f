//! Rules about PostgreSQL, from its own metrics.

pub(crate) mod locks;
pub(crate) mod sessions;
pub(crate) mod statements;
pub(crate) mod storage;

#[cfg(test)]
mod tests;

use plimsoll_model::metric;

use crate::diagnosis::component::{place, subjects};
use crate::diagnosis::rule::{RuleMatch, Sign, Words};
use crate::diagnosis::stretch::{View, bounded};

/// Mean number of active sessions below which shares of them are not significant.
pub(crate) const ACTIVE_MIN: f64 = 1.0;

/// What is waited for: labels of active sessions.
pub(crate) type WaitLabels = &'static [(&'static str, &'static str)];

pub(crate) fn sessions(label_set: &str, state: &str) -> String {
    metric::series(
        metric::POSTGRES_SESSIONS,
        &[("at", place(label_set)), ("state", state)],
    )
}

pub(crate) fn active(label_set: &str, (name, value): (&str, &str)) -> String {
    metric::series(
        metric::POSTGRES_ACTIVE,
        &[("at", place(label_set)), (name, value)],
    )
}

/// Share of the active sessions, over the stretch, that wait for one of these; `None` where there are too few.
pub(crate) fn share(view: &View<'_>, label_set: &str, waits: WaitLabels) -> Option<f64> {
    let all = view.mean(&sessions(label_set, "active"));
    let all = all.filter(|&all| all >= ACTIVE_MIN)?;
    let waiting = waits
        .iter()
        .filter_map(|wait| view.mean(&active(label_set, *wait)));
    Some(waiting.sum::<f64>() / all)
}

pub(crate) fn waits(view: &View<'_>, waits: WaitLabels, above: f64) -> Vec<Sign> {
    let signs = subjects(view, metric::POSTGRES_REFUSED)
        .into_iter()
        .filter_map(|label_set| {
            let share = share(view, &label_set, waits)?;
            Some(Sign {
                label_set,
                magnitude: share,
                present: share > above,
            })
        });
    signs.collect()
}

/// The texts of a wait that takes a share of the active sessions.
pub(crate) fn wait_words(
    case: &RuleMatch<'_>,
    limit: &str,
    what: &str,
    waits: WaitLabels,
    above: f64,
) -> Words {
    let label_set = case.label_set;
    let first = active(label_set, waits[0]);
    let waiting = case.over.evidence(
        (&first, "share of active sessions that wait for it", "1"),
        |view| share(view, label_set, waits),
    );
    let sentence = format!(
        "{:.0} % of PostgreSQL's active sessions waited {what}",
        waiting.failing.unwrap_or(0.0) * 100.0
    );
    Words::new(
        format!("{limit} in PostgreSQL ({})", place(label_set)),
        sentence,
    )
    .with(bounded(waiting, Some(above)))
    .with(case.line(
        &sessions(label_set, "active"),
        "sessions executing a statement",
    ))
}
