//! Workers of Python programs, and what stack samples add to the texts of rules: the call in which Python was busy, and
//! whether threads waited for the interpreter lock.

pub(crate) mod gunicorn;
pub(crate) mod uwsgi;

#[cfg(test)]
mod tests;

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::rule::{Check, Rule, Symptom, append_clause};
use crate::diagnosis::rule_id::RuleId::R2;
use crate::diagnosis::stretch::View;
use crate::rules::in_front::BEFORE_PROGRAMS;

/// Share of the samples from which threads count as waiting for the lock.
const LOCK_BUSY: f64 = 0.9;

pub(crate) const RULES: &[Rule] = &[Rule::new(
    R2,
    "Python workers",
    &[
        Check {
            strength: Strength::Queue,
            tier: Tier::Runtime,
            symptom: Symptom::Signs(gunicorn::gunicorn),
            words: gunicorn::gunicorn_words,
            remedy: "give gunicorn more workers",
            explains: &[BEFORE_PROGRAMS],
        },
        Check {
            strength: Strength::Queue,
            tier: Tier::Runtime,
            symptom: Symptom::Signs(uwsgi::uwsgi),
            words: uwsgi::uwsgi_words,
            remedy: "give uWSGI more workers",
            explains: &[BEFORE_PROGRAMS],
        },
    ],
)];

/// A clause; empty where Python was not sampled, or was idle.
pub(crate) fn clause(view: &View<'_>) -> String {
    let calls = view.series_of(metric::PYTHON_CALLS);
    let calls: Vec<(&str, f64)> = calls
        .filter_map(|series| Some((label(series, "of")?, view.mean(series)?)))
        .collect();
    let all: f64 = calls.iter().map(|(_, threads)| threads).sum();
    let most = calls.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let mut clause = String::new();
    if let Some((call, threads)) = most.filter(|_| all > 0.0) {
        let share = threads / all * 100.0;
        append_clause(
            &mut clause,
            format_args!("; Python was in {call} in {share:.0} % of the samples"),
        );
    }
    let state = |state| {
        let mut series = view.series_of(metric::PYTHON_THREADS);
        let own = series.find(|series| label(series, "state") == Some(state))?;
        view.mean(own)
    };
    if let (Some(held), Some(active)) = (state("lock"), state("active"))
        && held >= LOCK_BUSY
        && active > held + 0.5
    {
        append_clause(
            &mut clause,
            format_args!(
                ", and on average {active:.1} threads competed for the interpreter lock (GIL), which only one can hold: \
             more processes help, more threads do not"
            ),
        );
    }
    clause
}
