//! Sessions of HAProxy's servers and frontends: `maxconn`.

use plimsoll_model::finding::{Finding, Strength, Tier};
use plimsoll_model::reading::{SeriesTable, label};
use plimsoll_model::{labels, metric};

use crate::diagnosis::component::{place, written};
use crate::diagnosis::gauges::{Gauge, population};
use crate::diagnosis::measure::{subject_of, sustained};
use crate::diagnosis::mitigation::{FACTOR, LimitSetting, Mitigation, level};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words};
use crate::diagnosis::rule_id::RuleId::{self, H1, H7, H9, N1, X1, X2};
use crate::diagnosis::stretch::{SecondValues, View, bounded};
use crate::diagnosis::{SecondRange, log_failures};
use crate::rules::haproxy::{BACKEND, FRONTEND, of};

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        H1,
        "HAProxy server `maxconn` / `timeout queue`",
        &[
            Check {
                strength: Strength::Explicit,
                tier: Tier::Proxy,
                symptom: Symptom::Signs(server_queue),
                words: server_queue_words,
                remedy: "raise the server's `maxconn`",
                explains: &[&[N1, X1, X2, H7]],
            },
            Check {
                strength: Strength::Explicit,
                tier: Tier::Proxy,
                symptom: Symptom::Signs(|view| log_failures::failures(view, &["sQ"])),
                words: |case| {
                    log_failures::words(
                        case,
                        "HAProxy's queue before a server",
                        "requests waited in HAProxy longer than `timeout queue` (sQ)",
                    )
                },
                remedy: "raise the server's `maxconn` if the server is idle; otherwise examine the \
                 components behind it",
                explains: &[&[H9]],
            },
        ],
    )
    .with_setting(LimitSetting::Found(raised_maxconn)),
    Rule::new(
        H7,
        "HAProxy frontend/global `maxconn` (clients wait in kernel)",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Proxy,
            symptom: Symptom::Signs(frontend_full),
            words: frontend_full_words,
            remedy: "raise `maxconn`",
            explains: &[&[N1, X1, X2]],
        }],
    )
    .with_setting(LimitSetting::Found(raised_maxconn)),
];

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
fn server_queue(view: &View<'_>) -> Vec<Sign> {
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

fn server_queue_words(case: &RuleMatch<'_>) -> Words {
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

/// H7: as many clients as HAProxy, or one of its frontends, takes.
fn frontend_full(view: &View<'_>) -> Vec<Sign> {
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

fn frontend_full_words(case: &RuleMatch<'_>) -> Words {
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

/// `maxconn` of a server, a frontend, or HAProxy as a whole.
fn raised_maxconn(
    readings: &SeriesTable,
    finding: &Finding,
    failing: SecondRange,
) -> Option<Mitigation> {
    let of_whole = metric::HAPROXY_CONNECTIONS;
    let series = finding.evidence.iter().map(|line| line.series.as_str());
    let mut series = series.filter(|series| {
        let metric = labels::metric(series);
        metric == metric::HAPROXY_SESSIONS || metric == of_whole
    });
    let series = series.next()?;
    let at = label(series, "at")?;
    let (limit, of) = match (label(series, "proxy"), label(series, "server")) {
        (Some(proxy), Some(server)) => {
            let labels = [("at", at), ("proxy", proxy), ("server", server)];
            let of = match server {
                "FRONTEND" => proxy.to_owned(),
                server => format!("{proxy}/{server}"),
            };
            (metric::series(metric::HAPROXY_SESSIONS_LIMIT, &labels), of)
        }
        _ => (
            metric::series(metric::HAPROXY_CONNECTIONS_LIMIT, &[("at", at)]),
            String::new(),
        ),
    };
    let now = level(readings, &limit, failing).filter(|&now| now > 0.0)?;
    Some(Mitigation::Setting {
        at: at.to_owned(),
        setting: "maxconn".to_owned(),
        of,
        now,
        to: FACTOR * now,
    })
}

/// Sessions of servers and frontends of HAProxy that have a limit.
pub(crate) fn gauges(readings: &SeriesTable) -> Vec<Gauge> {
    let limits = readings.names_of(metric::HAPROXY_SESSIONS_LIMIT);
    limits
        .filter_map(|limit| {
            let level = format!("{}{}", metric::HAPROXY_SESSIONS, subject_of(limit));
            readings.values(&level)?;
            let proxy = label(limit, "proxy")?;
            let (name, rules): (String, &'static [RuleId]) = match label(limit, "server")? {
                "FRONTEND" => (format!("maxconn of HAProxy's frontend {proxy}"), &[H7]),
                server => (
                    format!("maxconn of server {server} in HAProxy's {proxy}"),
                    &[H1],
                ),
            };
            Some(population(&level, limit.to_owned(), rules, &name))
        })
        .collect()
}
