//! Rules about proxies and web servers, from their own metrics.

pub(crate) mod balance;

use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::bounds::CONNECTIONS_FULL;
use crate::diagnosis::component::{place, written};
use crate::diagnosis::measure::{increase, subject_of, sustained};
use crate::diagnosis::rule::{RuleMatch, Sign, Words, append_clause};
use crate::diagnosis::stretch::{SecondValues, View, bounded};

/// Idle share of HAProxy's threads below which they have little to spare.
const IDLE_MIN: f64 = 0.20;
/// HAProxy's names of a proxy as a whole.
const FRONTEND: &str = "FRONTEND";
const BACKEND: &str = "BACKEND";

fn active(label_set: &str) -> String {
    metric::series(
        metric::NGINX_CONNECTIONS,
        &[("at", place(label_set)), ("state", "active")],
    )
}

/// Places for connections in all workers of nginx together.
fn nginx_places(view: &View<'_>, at: &str) -> Option<f64> {
    let (connections, _) = view.setting(at, "worker_connections", "")?;
    let (workers, _) = view.setting(at, "worker_processes", "")?;
    Some(connections * workers)
}

/// The texts of missing connection slots, after a sentence with the symptom.
pub(crate) fn nginx_words(case: &RuleMatch<'_>, mut sentence: String) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let setting = view.setting(at, "worker_connections", "");
    let places = nginx_places(view, at);
    let remedy = match setting {
        Some((now, file)) => {
            append_clause(
                &mut sentence,
                format_args!("; `worker_connections` is {now:.0}"),
            );
            format!(
                "raise `worker_connections` (now {now:.0}){} to {:.0} or more: a proxied request takes two; check that \
                 `worker_rlimit_nofile` is higher, then `nginx -s reload`",
                written(file),
                (4.0 * now).max(1024.0)
            )
        }
        None => "raise `worker_connections` in nginx's `events { … }`: a proxied request takes two; check that \
            `worker_rlimit_nofile` is higher, then `nginx -s reload`"
            .to_owned(),
    };
    Words::new(format!("worker_connections of nginx ({at})"), sentence)
        .with(bounded(
            case.line(
                &case.series(metric::NGINX_DROPPED),
                "connections closed for want of a slot, per second",
            ),
            Some(0.0),
        ))
        .with(bounded(
            case.line(&active(case.label_set), "client connections"),
            places,
        ))
        .with(case.line(
            &case.series(metric::NGINX_ACCEPTED),
            "connections accepted, per second",
        ))
        .with(case.line(&case.series(metric::NGINX_REQUESTS), "requests, per second"))
        .advising(remedy)
}

/// X1: connections were accepted and closed at once.
pub(crate) fn nginx_dropped_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let dropped = case.series(metric::NGINX_DROPPED);
    let sentence = format!(
        "nginx closed {:.0} connections a second right after accepting them, because it had no free connection slot",
        view.mean(&dropped).unwrap_or(0.0).max(1.0)
    );
    nginx_words(case, sentence)
}

/// X2.
pub(crate) fn nginx_nearly_full(view: &View<'_>) -> Vec<Sign> {
    let actives = view
        .series_of(metric::NGINX_CONNECTIONS)
        .filter(|series| label(series, "state") == Some("active"));
    actives
        .filter_map(|series| {
            let at = place(series);
            let places = nginx_places(view, at).filter(|&places| places > 0.0)?;
            let share =
                view.share_of_seconds(|row| Some(row.get(series)? >= CONNECTIONS_FULL * places));
            sustained(&metric::series("", &[("at", at)]), share)
        })
        .collect()
}

pub(crate) fn nginx_nearly_full_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let places = nginx_places(view, place(case.label_set)).unwrap_or(0.0);
    let sentence = format!(
        "nginx had up to {:.0} client connections and slots for {places:.0}",
        view.max(&active(case.label_set)).unwrap_or(0.0)
    );
    nginx_words(case, sentence)
}

/// A proxy of HAProxy, or one of its servers.
fn of(metric: &str, label_set: &str, server: &str) -> String {
    let proxy = label(label_set, "proxy").unwrap_or("?");
    let labels = [
        ("at", place(label_set)),
        ("proxy", proxy),
        ("server", server),
    ];
    metric::series(metric, &labels)
}

/// Servers with a limit of a backend.
fn limited_servers<'a>(view: &View<'a>, label_set: &str) -> Vec<&'a str> {
    let (at, proxy) = (label(label_set, "at"), label(label_set, "proxy"));
    let limits = view.series_of(metric::HAPROXY_SESSIONS_LIMIT);
    let own = limits.filter(|limit| label(limit, "at") == at && label(limit, "proxy") == proxy);
    own.filter_map(|limit| label(limit, "server"))
        .filter(|server| *server != FRONTEND)
        .collect()
}

/// Whether a server has all its sessions in use.
fn is_full(row: SecondValues<'_>, label_set: &str, server: &str) -> Option<bool> {
    let sessions = row.get(&of(metric::HAPROXY_SESSIONS, label_set, server))?;
    Some(sessions >= row.get(&of(metric::HAPROXY_SESSIONS_LIMIT, label_set, server))?)
}

/// Requests that wait for a backend, whichever server they wait for.
fn waiting(row: SecondValues<'_>, label_set: &str, servers: &[&str]) -> Option<f64> {
    let queue = |server: &str| row.get(&of(metric::HAPROXY_QUEUE, label_set, server));
    let own: f64 = servers.iter().filter_map(|server| queue(server)).sum();
    Some(queue(BACKEND)? + own)
}

/// H1: requests wait in HAProxy while a server has all its sessions in use.
pub(crate) fn server_queue(view: &View<'_>) -> Vec<Sign> {
    let queues = view.series_of(metric::HAPROXY_QUEUE);
    let backends = queues.filter(|series| label(series, "server") == Some(BACKEND));
    backends
        .filter_map(|series| {
            let proxy = label(series, "proxy")?;
            let label_set = metric::series("", &[("at", place(series)), ("proxy", proxy)]);
            let servers = limited_servers(view, &label_set);
            let share = view.share_of_seconds(|row| {
                let full = servers
                    .iter()
                    .filter_map(|server| is_full(row, &label_set, server));
                Some(waiting(row, &label_set, &servers)? > 0.0 && full.max()?)
            });
            let sign = sustained(&label_set, share)?;
            let lengths: Vec<f64> = view
                .rows()
                .filter_map(|row| waiting(row, &label_set, &servers))
                .collect();
            Some(Sign {
                magnitude: lengths.iter().sum::<f64>() / lengths.len().max(1) as f64,
                ..sign
            })
        })
        .collect()
}

pub(crate) fn server_queue_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let (label_set, at) = (case.label_set, place(case.label_set));
    let backend = label(label_set, "proxy").unwrap_or("?");
    let servers = limited_servers(view, label_set);
    let fullness = |server: &str| view.share_of_seconds(|row| is_full(row, label_set, server));
    let fullest = servers.iter().copied().max_by(|a, b| {
        let (a, b) = (fullness(a).unwrap_or(0.0), fullness(b).unwrap_or(0.0));
        a.total_cmp(&b)
    });
    let server = fullest.unwrap_or("?");
    let limit = view.max(&of(metric::HAPROXY_SESSIONS_LIMIT, label_set, server));
    let queue = case.over.evidence(
        (
            &of(metric::HAPROXY_QUEUE, label_set, BACKEND),
            "requests waiting for a server",
            "{request}",
        ),
        |view| {
            let lengths = view
                .rows()
                .filter_map(|row| waiting(row, label_set, &servers));
            let (sum, count) = lengths.fold((0.0, 0.0), |(sum, count), length| {
                (sum + length, count + 1.0)
            });
            (count > 0.0).then_some(sum / count)
        },
    );
    let sentence = format!(
        "on average, {:.0} requests waited in HAProxy's queue for {backend} while {server} had all its {:.0} sessions \
         in use in {:.0} % of the seconds",
        queue.failing.unwrap_or(0.0).max(1.0),
        limit.unwrap_or(0.0),
        fullness(server).unwrap_or(0.0) * 100.0
    );
    let phase = |phase: &str| {
        let proxy = label(label_set, "proxy").unwrap_or("?");
        let labels = [
            ("at", at),
            ("proxy", proxy),
            ("server", BACKEND),
            ("phase", phase),
        ];
        metric::series(metric::HAPROXY_TIME, &labels)
    };
    Words::new(
        format!("maxconn of server {server} in HAProxy's {backend} ({at})"),
        sentence,
    )
    .with(bounded(queue, Some(0.0)))
    .with(bounded(
        case.line(
            &of(metric::HAPROXY_SESSIONS, label_set, server),
            "sessions with that server",
        ),
        limit,
    ))
    .with(case.line(&phase("queue"), "time in the queue"))
    .with(case.line(&phase("answer"), "response time of the server"))
    .advising(server_remedy(case, backend, server, limit))
}

fn server_remedy(case: &RuleMatch<'_>, backend: &str, server: &str, limit: Option<f64>) -> String {
    let (view, at) = (case.failing(), place(case.label_set));
    let known = [
        format!("{backend}/{server}"),
        format!("{backend}/default-server"),
    ];
    let file = known
        .iter()
        .find_map(|of| view.setting(at, "maxconn", of)?.1);
    format!(
        "if the server has CPU and connections to spare, raise `maxconn` of server {server} in {backend} (now {:.0}){}, \
         then reload HAProxy; otherwise examine the components behind it, or add servers",
        limit.unwrap_or(0.0),
        written(file)
    )
}

/// H2: connections to a server fail.
pub(crate) fn refused(view: &View<'_>) -> Vec<Sign> {
    let errors = view.series_of(metric::HAPROXY_CONNECT_ERRORS);
    errors
        .filter(|series| ![Some(BACKEND), Some(FRONTEND)].contains(&label(series, "server")))
        .filter_map(|series| increase(view, series))
        .collect()
}

pub(crate) fn refused_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let errors = case.series(metric::HAPROXY_CONNECT_ERRORS);
    let server = label(case.label_set, "server").unwrap_or("?");
    let backend = label(case.label_set, "proxy").unwrap_or("?");
    let per_minute = view.mean(&errors).unwrap_or(0.0) * 60.0;
    Words::new(
        format!("connections to server {server} of HAProxy's {backend}"),
        format!(
            "{:.0} connections a minute from HAProxy to server {server} of {backend} failed",
            per_minute.max(1.0)
        ),
    )
    .with(bounded(
        case.line(&errors, "connections that failed, per second"),
        Some(0.0),
    ))
    .with(case.line(
        &case.series(metric::HAPROXY_RETRIES),
        "connections retried, per second",
    ))
    .with(case.line(
        &case.series(metric::HAPROXY_SESSIONS),
        "sessions with that server",
    ))
}

/// H7: as many clients as HAProxy, or one of its frontends, takes.
pub(crate) fn frontend_full(view: &View<'_>) -> Vec<Sign> {
    let limits = view.series_of(metric::HAPROXY_SESSIONS_LIMIT);
    let frontends = limits.filter(|series| label(series, "server") == Some(FRONTEND));
    let whole = view.series_of(metric::HAPROXY_CONNECTIONS_LIMIT);
    let pairs = frontends
        .map(|limit| (metric::HAPROXY_SESSIONS, limit))
        .chain(whole.map(|limit| (metric::HAPROXY_CONNECTIONS, limit)));
    pairs
        .filter_map(|(metric, limit)| {
            let label_set = subject_of(limit);
            let level = format!("{metric}{label_set}");
            let share = view.share_of_seconds(|row| {
                let limit = row.get(limit).filter(|&limit| limit > 0.0)?;
                Some(row.get(&level)? >= limit)
            });
            sustained(label_set, share)
        })
        .collect()
}

pub(crate) fn frontend_full_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let frontend = label(case.label_set, "proxy");
    let (level, limit) = match frontend {
        Some(_) => (metric::HAPROXY_SESSIONS, metric::HAPROXY_SESSIONS_LIMIT),
        None => (
            metric::HAPROXY_CONNECTIONS,
            metric::HAPROXY_CONNECTIONS_LIMIT,
        ),
    };
    let (level, limit) = (case.series(level), case.series(limit));
    let most = view.max(&limit).unwrap_or(0.0);
    let what = match frontend {
        Some(frontend) => format!("HAProxy's frontend {frontend} ({at})"),
        None => format!("HAProxy ({at})"),
    };
    let share = view
        .share_of_seconds(|row| Some(row.get(&level)? >= row.get(&limit)?))
        .unwrap_or(0.0);
    // A frontend without a limit of its own has the process's.
    let of = frontend.unwrap_or_default();
    let file = view
        .setting(at, "maxconn", of)
        .or(view.setting(at, "maxconn", ""));
    Words::new(
        format!("maxconn of {what}"),
        format!(
            "{what} had all its {most:.0} client connections in use in {:.0} % of the seconds: further clients wait in \
             the kernel",
            share * 100.0
        ),
    )
    .with(bounded(case.line(&level, "client connections"), Some(most)))
    .with(case.line(&limit, "limit of client connections"))
    .advising(format!(
        "raise `maxconn` of {what} (now {most:.0}){}, and the limit of open files with it, then reload HAProxy",
        written(file.and_then(|(_, file)| file))
    ))
}

/// H10.
pub(crate) fn busy(view: &View<'_>) -> Vec<Sign> {
    let idle = view.series_of(metric::HAPROXY_IDLE);
    idle.filter_map(|series| {
        let share = view.share_of_seconds(|row| Some(row.get(series)? < IDLE_MIN));
        sustained(subject_of(series), share)
    })
    .collect()
}

pub(crate) fn busy_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let idle = case.series(metric::HAPROXY_IDLE);
    let at = place(case.label_set);
    Words::new(
        format!("CPU of HAProxy ({at})"),
        format!(
            "HAProxy's threads were idle {:.0} % of the time",
            view.mean(&idle).unwrap_or(0.0) * 100.0
        ),
    )
    .with(bounded(
        case.line(&idle, "idle share of HAProxy's threads"),
        Some(IDLE_MIN),
    ))
    .with(case.line(metric::CPU_BUSY, "share of all CPUs that was busy"))
}
