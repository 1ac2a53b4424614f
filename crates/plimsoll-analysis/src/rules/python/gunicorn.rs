//! Workers of gunicorn.

use plimsoll_model::metric;

use crate::diagnosis::component::place;
use crate::diagnosis::measure::{subject_of, sustained};
use crate::diagnosis::rule::{RuleMatch, Sign, Words, append_clause};
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::python;

/// R2: all of gunicorn's workers have a connection, and more connections wait.
pub(crate) fn gunicorn(view: &View<'_>) -> Vec<Sign> {
    let servers = view.series_of(metric::GUNICORN_WAITING);
    let signs = servers.filter_map(|waiting| {
        let label_set = subject_of(waiting);
        let at = [("at", place(label_set))];
        let [taken, places] = [metric::GUNICORN_TAKEN, metric::GUNICORN_PLACES]
            .map(|metric| metric::series(metric, &at));
        let share = view.share_of_seconds(|row| {
            // Accepted connections of a Unix socket are unknown; waiting connections suffice.
            let is_full = match (row.get(&taken), row.get(&places)) {
                (Some(taken), Some(places)) => taken >= places,
                _ => true,
            };
            Some(row.get(waiting)? > 0.0 && is_full)
        });
        sustained(label_set, share)
    });
    signs.collect()
}

pub(crate) fn gunicorn_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let [waiting, taken, places] = [
        metric::GUNICORN_WAITING,
        metric::GUNICORN_TAKEN,
        metric::GUNICORN_PLACES,
    ]
    .map(|metric| case.series(metric));
    let all = view.max(&places);
    let workers = view.setting(at, "workers", "").map(|(workers, _)| workers);
    let threads = view
        .setting(at, "threads", "")
        .map_or(1.0, |(threads, _)| threads);
    let mut sentence = match workers {
        Some(workers) if workers < 1.5 => "the only worker of gunicorn was busy".to_owned(),
        Some(workers) => format!("all {workers:.0} workers of gunicorn were busy"),
        None => "all workers of gunicorn were busy".to_owned(),
    };
    if threads > 1.0 {
        append_clause(
            &mut sentence,
            format_args!(", each with {threads:.0} threads,"),
        );
    }
    append_clause(
        &mut sentence,
        format_args!(
            " while up to {:.0} connections waited to be accepted",
            view.max(&waiting).unwrap_or(0.0)
        ),
    );
    sentence.push_str(&python::clause(view));
    let now = workers.map_or(String::new(), |workers| format!(" (now {workers:.0})"));
    Words::new(format!("workers of gunicorn ({at})"), sentence)
        .with(bounded(case.line(&taken, "connections accepted by workers"), all))
        .with(bounded(case.line(&waiting, "connections waiting"), Some(0.0)))
        .advising(format!(
            "raise `--workers`{now} as far as CPUs and memory allow (its authors start with 2 x CPUs + 1); for \
             requests that wait on I/O, `--threads`, or a class that takes many at once (`-k gevent`); first find what \
             its requests wait for"
        ))
}
