//! Servers in parallel behind HAProxy: unequal ones, and new ones.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::component::place;
use crate::diagnosis::measure::subject_of;
use crate::diagnosis::rule::{Check, Role, Rule, RuleMatch, Sign, Symptom, Words};
use crate::diagnosis::rule_id::RuleId::{H11, S7};
use crate::diagnosis::stretch::{Stretch3, View, bounded};
use crate::stats::order::median;

/// The most that one server may have, as a multiple of the mean.
const UNEVEN: f64 = 1.3;
/// How many times as long as the others a slow server takes, and how long at least, s.
const SLOWER: f64 = 2.0;
const SLOW_S: f64 = 0.005;
/// Sessions per second of all servers above which their shares are significant.
const SESSIONS_MIN: f64 = 10.0;
/// Seconds for which a new server is observed, and for which it must be slow.
const YOUNG_SECONDS: usize = 10;
const COLD_SECONDS: usize = 5;

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        H11,
        "HAProxy: imbalance or a slow replica",
        &[Check {
            strength: Strength::Decomposition,
            tier: Tier::Proxy,
            symptom: Symptom::Signs(uneven),
            words: uneven_words,
            remedy: "balance by requests in flight (`balance leastconn` in HAProxy, \
                 `least_conn` in nginx), and find why that server is slower: its machine, its \
                 neighbours, its version",
            explains: &[],
        }],
    )
    .with_role(Role::Addition),
    Rule::new(
        S7,
        "slow start",
        &[Check {
            strength: Strength::Decomposition,
            tier: Tier::Proxy,
            symptom: Symptom::Change(cold),
            words: cold_words,
            remedy: "let a new server start with a small share (`slowstart 30s` on HAProxy's \
                 `server` line), and warm it up before it receives requests (caches, just-in-time \
                 compilation, pools)",
            explains: &[&[H11]],
        }],
    )
    .with_role(Role::Addition),
];

/// A server of a backend: requests per second as its weight divides them, and time to its answer, s.
struct BackendServer<'a> {
    name: &'a str,
    begun: f64,
    time_s: Option<f64>,
}

/// Backends by `{at=…,proxy=…}`, as their servers' series have it.
fn backends(view: &View<'_>) -> Vec<String> {
    let mut all: Vec<String> = view
        .series_of(metric::HAPROXY_SESSIONS_BEGUN)
        .filter_map(|series| {
            let proxy = label(series, "proxy")?;
            Some(metric::series(
                "",
                &[("at", place(series)), ("proxy", proxy)],
            ))
        })
        .collect();
    all.dedup();
    all
}

fn is_of(series: &str, backend: &str) -> bool {
    let same = |name| label(series, name) == label(backend, name);
    let server = label(series, "server");
    same("at") && same("proxy") && ![Some("BACKEND"), Some("FRONTEND")].contains(&server)
}

fn time_of(series: &str) -> String {
    let of = |name| label(series, name).unwrap_or_default();
    let labels = [
        ("at", of("at")),
        ("proxy", of("proxy")),
        ("server", of("server")),
        ("phase", "answer"),
    ];
    metric::series(metric::HAPROXY_TIME, &labels)
}

/// Active servers: neither backups nor those in maintenance.
fn servers<'a>(view: &View<'a>, backend: &str) -> Vec<BackendServer<'a>> {
    let own = view
        .series_of(metric::HAPROXY_SESSIONS_BEGUN)
        .filter(|series| is_of(series, backend));
    own.filter_map(|series| {
        let weight = format!("{}{}", metric::HAPROXY_WEIGHT, subject_of(series));
        let weight = view.max(&weight).unwrap_or(1.0);
        let begun = view.mean(series)?;
        (weight > 0.0).then(|| BackendServer {
            name: label(series, "server").unwrap_or("?"),
            begun: begun / weight,
            time_s: view.mean(&time_of(series)),
        })
    })
    .collect()
}

/// The server that has most, as a multiple of the mean; and the one that is slowest, as a multiple of the middle.
fn differences<'a>(servers: &[BackendServer<'a>]) -> Option<[(&'a str, f64); 2]> {
    let sum: f64 = servers.iter().map(|server| server.begun).sum();
    if servers.len() < 2 || sum < SESSIONS_MIN {
        return None;
    }
    let mean = sum / servers.len() as f64;
    let most = servers.iter().max_by(|a, b| a.begun.total_cmp(&b.begun))?;
    let slowest = servers
        .iter()
        .max_by(|a, b| a.time_s.unwrap_or(0.0).total_cmp(&b.time_s.unwrap_or(0.0)))?;
    let others = servers.iter().filter(|server| server.name != slowest.name);
    let others: Vec<f64> = others.filter_map(|server| server.time_s).collect();
    let time_s = slowest.time_s.filter(|&time_s| time_s >= SLOW_S);
    let slower = time_s.zip(median(&others));
    let slower = slower.map_or(1.0, |(own, others)| own / others.max(0.001));
    Some([(most.name, most.begun / mean), (slowest.name, slower)])
}

/// H11: parallel servers with unequal shares, or with one slower server.
fn uneven(view: &View<'_>) -> Vec<Sign> {
    let all = backends(view).into_iter();
    all.filter_map(|backend| {
        let [most, slowest] = differences(&servers(view, &backend))?;
        let is_uneven = most.1 > UNEVEN || slowest.1 > SLOWER;
        Some(Sign::of(
            &backend,
            most.1.max(slowest.1 / SLOWER),
            is_uneven,
        ))
    })
    .collect()
}

fn uneven_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let servers = servers(view, case.label_set);
    let proxy = label(case.label_set, "proxy").unwrap_or("?");
    let [most, slowest] = differences(&servers).unwrap_or([("?", 1.0); 2]);
    let is_slow = slowest.1 > SLOWER;
    let (server, sentence) = if is_slow {
        let sentence = format!(
            "server {} of {proxy} took {:.1} times as long to answer as the other servers",
            slowest.0, slowest.1
        );
        (slowest.0, sentence)
    } else {
        let sentence = format!(
            "server {} of {proxy} received {:.1} times as many requests as the average of the {} servers",
            most.0,
            most.1,
            servers.len()
        );
        (most.0, sentence)
    };
    let mut words = Words::new(
        format!(
            "server {server} of HAProxy's {proxy} ({})",
            place(case.label_set)
        ),
        sentence,
    );
    for each in &servers {
        let labels = [
            ("at", place(case.label_set)),
            ("proxy", proxy),
            ("server", each.name),
        ];
        let begun = metric::series(metric::HAPROXY_SESSIONS_BEGUN, &labels);
        let what = format!("sessions started on {}, per second", each.name);
        words = words.with(case.line(&begun, &what));
        let what = format!("response time of {}", each.name);
        words = words.with(case.line(&time_of(&begun), &what));
    }
    words
}

/// A server that started to receive requests within the stretches: its initial response time relative to the others,
/// for how many seconds, and that time, s.
fn youth(over: &Stretch3<'_>, series: &str) -> Option<(f64, usize, f64)> {
    let view = &over.failing;
    let begun = view.points(series);
    let had_nothing = |view: &View<'_>| view.max(series).is_none_or(|begun| begun <= 0.0);
    let first = begun.iter().position(|point| point.1 > 0.0)?;
    let is_new = had_nothing(&over.passing) && had_nothing(&over.base) && first >= 1;
    if !is_new {
        return None;
    }
    let born = begun.get(first)?.0;
    let bound_s = view.context.bound_us? as f64 / 1e6;
    let proxy = label(series, "proxy").unwrap_or_default();
    let backend = metric::series("", &[("at", place(series)), ("proxy", proxy)]);
    let name = label(series, "server");
    let others: Vec<f64> = servers(view, &backend)
        .iter()
        .filter(|server| Some(server.name) != name)
        .filter_map(|server| server.time_s)
        .collect();
    let young: Vec<f64> = view
        .points(&time_of(series))
        .into_iter()
        .filter(|point| point.0 >= born)
        .map(|point| point.1)
        .take(YOUNG_SECONDS)
        .collect();
    let slow: Vec<f64> = young
        .into_iter()
        .filter(|&time_s| time_s > bound_s)
        .collect();
    let time_s = median(&slow)?;
    Some((time_s / median(&others)?.max(0.001), slow.len(), time_s))
}

/// S7: a server that is new is slower than the others, and than it may be.
fn cold(over: &Stretch3<'_>) -> Vec<Sign> {
    let all = over.failing.series_of(metric::HAPROXY_SESSIONS_BEGUN);
    let servers = all.filter(|series| {
        label(series, "server").is_some_and(|server| !["BACKEND", "FRONTEND"].contains(&server))
    });
    servers
        .filter_map(|series| {
            let (slower, seconds, _) = youth(over, series)?;
            let is_cold = slower > SLOWER && seconds > COLD_SECONDS;
            Some(Sign::of(series, slower, is_cold))
        })
        .collect()
}

fn cold_words(case: &RuleMatch<'_>) -> Words {
    let (slower, seconds, time_s) = youth(case.over, case.label_set).unwrap_or_default();
    let field = |name| label(case.label_set, name).unwrap_or("?");
    let line = case.line(&time_of(case.label_set), "its response time");
    let bound = case.failing().context.bound_us;
    Words::new(
        format!(
            "the start of server {} in HAProxy's {} ({})",
            field("server"),
            field("proxy"),
            field("at")
        ),
        format!(
            "server {} had just started and took {:.0} ms per answer in {seconds} of its first seconds, {slower:.1} \
             times as long as the other servers",
            field("server"),
            time_s * 1e3
        ),
    )
    .with(bounded(line, bound.map(|us| us as f64 / 1e6)))
    .with(case.line(case.label_set, "sessions started, per second"))
}
