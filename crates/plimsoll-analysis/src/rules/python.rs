//! Workers of Python programs, and what stack samples add to the texts of rules: the call in which Python was busy, and
//! whether threads waited for the interpreter lock.

pub(crate) mod gunicorn;
pub(crate) mod uwsgi;

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

#[cfg(test)]
mod tests {
    use plimsoll_model::metric::series;

    use super::*;
    use crate::diagnosis::rule_id::RuleId;
    use crate::findings::components_tests::{at, found_in};
    use crate::findings::tests::rule_of;

    #[test]
    fn the_call_stands_behind_the_worker() {
        let of = |metric, name, value| series(metric, &[("at", "py-spy dump -p 7"), (name, value)]);
        let healthy = vec![
            (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
            (at(metric::GUNICORN_WAITING), 0.0),
            (at(metric::GUNICORN_TAKEN), 1.0),
            (at(metric::GUNICORN_PLACES), 1.0),
        ];
        let failing = [
            (at(metric::GUNICORN_WAITING), 20.0),
            (of(metric::PYTHON_CALLS, "of", "rank (shop.py:41)"), 3.0),
            (of(metric::PYTHON_CALLS, "of", "show (shop.py:7)"), 1.0),
            (of(metric::PYTHON_THREADS, "state", "active"), 4.0),
            (of(metric::PYTHON_THREADS, "state", "lock"), 1.0),
        ];
        let found = found_in(&healthy, &failing);
        assert_eq!(rule_of(&found[0]), RuleId::R2, "{found:#?}");
        for expected in [
            "Python was in rank (shop.py:41) in 75 % of the samples",
            "on average 4.0 threads competed for the interpreter lock (GIL)",
        ] {
            assert!(found[0].sentence.contains(expected), "{found:#?}");
        }
    }
}
