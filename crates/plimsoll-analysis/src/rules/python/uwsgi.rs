//! Workers of uWSGI.

use plimsoll_model::metric;

use crate::diagnosis::bounds::ALWAYS_BUSY;
use crate::diagnosis::component::{of_component, place, written};
use crate::diagnosis::measure::{SUSTAINED, subject_of};
use crate::diagnosis::rule::{RuleMatch, Sign, Words, append_clause};
use crate::diagnosis::stretch::{SecondValues, View, bounded};
use crate::rules::python;

/// R2: all of uWSGI's workers are busy, and requests wait; or they are busy all the time: the queue of a Unix socket
/// is unknown.
pub(crate) fn uwsgi(view: &View<'_>) -> Vec<Sign> {
    let servers = view.series_of(metric::UWSGI_BUSY);
    let signs = servers.filter_map(|busy| {
        let label_set = subject_of(busy);
        let [places, queue] = [metric::UWSGI_PLACES, metric::UWSGI_QUEUE]
            .map(|metric| of_component(metric, label_set));
        let is_full = |row: SecondValues<'_>| Some(row.get(busy)? >= row.get(&places)?);
        let full = view.share_of_seconds(is_full)?;
        let waited = view.share_of_seconds(|row| {
            Some(is_full(row)? && row.get(&queue).is_some_and(|queue| queue > 0.0))
        })?;
        Some(Sign {
            label_set: label_set.to_owned(),
            magnitude: full,
            present: waited >= SUSTAINED || full >= ALWAYS_BUSY,
        })
    });
    signs.collect()
}

pub(crate) fn uwsgi_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let (at, label_set) = (place(case.label_set), case.label_set);
    let [busy, places, queue, killed] = [
        metric::UWSGI_BUSY,
        metric::UWSGI_PLACES,
        metric::UWSGI_QUEUE,
        metric::UWSGI_HARAKIRI,
    ]
    .map(|metric| of_component(metric, label_set));
    let processes = view.setting(at, "processes", "");
    let threads = view
        .setting(at, "threads", "")
        .map_or(1.0, |(threads, _)| threads);
    let mut sentence = match processes {
        Some((count, _)) if count < 1.5 => "the only worker of uWSGI was busy".to_owned(),
        Some((all, _)) => format!("all {all:.0} workers of uWSGI were busy"),
        None => "all workers of uWSGI were busy".to_owned(),
    };
    if threads > 1.5 {
        append_clause(
            &mut sentence,
            format_args!(", each with {threads:.0} threads,"),
        );
    }
    if let Some(most) = view.max(&queue).filter(|&most| most > 0.0) {
        append_clause(
            &mut sentence,
            format_args!(" while up to {most:.0} connections waited to be accepted"),
        );
    }
    sentence.push_str(&python::clause(view));
    let now = processes.map(|(now, file)| format!(" (now {now:.0}){}", written(file)));
    Words::new(format!("workers of uWSGI ({at})"), sentence)
        .with(bounded(case.line(&busy, "requests in service"), view.max(&places)))
        .with(bounded(case.line(&queue, "connections waiting"), Some(0.0)))
        .with(case.line(&of_component(metric::UWSGI_REQUESTS, label_set), "requests served, per second"))
        .with(case.line(&killed, "workers killed because a request took too long, per second"))
        .advising(format!(
            "first find what its requests wait for; then raise `processes`{} as far as CPUs and memory allow, or, for \
             requests that wait on I/O, `threads` (with `enable-threads = true`), and reload uWSGI; a larger `listen` \
             only lengthens the queue",
            now.unwrap_or_default()
        ))
}
