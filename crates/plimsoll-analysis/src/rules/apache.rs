//! Rules about poolers and about servers that run applications.

use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::component::{place, written};
use crate::diagnosis::measure::{SUSTAINED, subject_of, sustained};
use crate::diagnosis::rule::{RuleMatch, Sign, Words, append_clause};
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::php_fpm::append_unserved;
use crate::rules::python;

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
pub(crate) fn pooler(view: &View<'_>) -> Vec<Sign> {
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

pub(crate) fn pooler_words(case: &RuleMatch<'_>) -> Words {
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

fn workers(label_set: &str, state: &str) -> String {
    metric::series(
        metric::APACHE_WORKERS,
        &[("at", place(label_set)), ("state", state)],
    )
}

/// A0: no worker of Apache is idle, or none was left to answer about itself.
pub(crate) fn apache(view: &View<'_>) -> Vec<Sign> {
    let servers = view.series_of(metric::APACHE_SILENT);
    let signs = servers.filter_map(|silent| {
        let label_set = subject_of(silent);
        let [busy, idle] = ["busy", "idle"].map(|state| workers(label_set, state));
        let most = view.setting(place(label_set), "MaxRequestWorkers", "");
        let share = view.share_of_seconds(|row| {
            let is_full = row.get(&idle).is_some_and(|idle| idle < 1.0);
            // It may still start some: then the next second has idle ones. The one that answers is counted as neither.
            let is_most =
                most.is_none_or(|(most, _)| row.get(&busy).is_some_and(|busy| busy + 1.0 >= most));
            Some(row.get(silent)? > 0.0 || is_full && is_most)
        })?;
        Some(Sign {
            label_set: label_set.to_owned(),
            magnitude: share,
            present: share >= SUSTAINED,
        })
    });
    signs.collect()
}

pub(crate) fn apache_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let (at, label_set) = (place(case.label_set), case.label_set);
    let most = view.setting(at, "MaxRequestWorkers", "");
    let [busy, idle] = ["busy", "idle"].map(|state| workers(label_set, state));
    let silent = case.series(metric::APACHE_SILENT);
    let all = most
        .map(|(most, _)| most)
        .or(view.max(&busy).map(|busy| busy + 1.0));
    let mut sentence = match all {
        Some(all) => format!("all {all:.0} workers of Apache were busy"),
        None => "all workers of Apache were busy".to_owned(),
    };
    append_unserved(&mut sentence, view.mean(&silent));
    let now = most.map(|(now, file)| format!(" (now {now:.0}){}", written(file)));
    Words::new(format!("MaxRequestWorkers of Apache ({at})"), sentence)
        .with(bounded(case.line(&busy, "workers serving a request"), most.map(|(most, _)| most)))
        .with(case.line(&idle, "idle workers"))
        .with(case.line(&silent, "share of the seconds with none free to serve the status page"))
        .with(case.line(&case.series(metric::APACHE_REQUESTS), "requests, per second"))
        .advising(format!(
            "if CPUs and memory have room, raise `MaxRequestWorkers`{} (and `ServerLimit`, which caps it) and \
             restart Apache; let the event MPM hold idle connections (`a2enmod mpm_event`) or shorten \
             `KeepAliveTimeout`; first find what its requests wait for",
            now.unwrap_or_default()
        ))
}

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
