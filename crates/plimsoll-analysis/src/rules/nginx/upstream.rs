//! Servers behind nginx, from its error log and the times in its access log.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::component::place;
use crate::diagnosis::log_failures;
use crate::diagnosis::measure::before;
use crate::diagnosis::rule::{Check, Role, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::{H4, R1, X3, X4, X5, X7};
use crate::diagnosis::stretch::{Stretch3, View, bounded};

/// An answer's head that takes this long is slow, s; or this share of the tightest bound.
const SLOW_MIN_S: f64 = 0.050;
const SLOW_SHARE: f64 = 0.25;
/// How many times as long as at low load.
const SLOWER: f64 = 3.0;
/// Share of the time to the response head that connecting may take where the server itself is slow.
const CONNECT_SHARE: f64 = 0.1;
/// Connect time, s, and its ratio to low load, from which connecting is slow.
const CONNECT_MIN_S: f64 = 0.010;
const CONNECT_SLOWER: f64 = 10.0;

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        X3,
        "upstream accept backlog or down",
        &[
            Check {
                strength: Strength::Explicit,
                tier: Tier::Proxy,
                symptom: Symptom::Change(slow_to_connect),
                words: slow_to_connect_words,
                remedy: "find why the upstream accepts connections so late: its accept queue is \
                 full (its backlog and net.core.somaxconn), or it has too few workers; and keep \
                 connections to it alive (`keepalive` in its `upstream { … }`)",
                explains: &[],
            },
            Check {
                strength: Strength::Explicit,
                tier: Tier::Proxy,
                symptom: Symptom::Signs(|view| log_failures::failures(view, &["connect"])),
                words: |case| {
                    log_failures::words(
                        case,
                        "an upstream of nginx accepts no connections",
                        "nginx could not connect to an upstream",
                    )
                },
                remedy: "find why the upstream accepts no connections: it is down, or its accept \
                 queue is full (its backlog and net.core.somaxconn); add workers there, and \
                 `keepalive` in its `upstream { … }`",
                explains: &[],
            },
        ],
    ),
    Rule::new(
        X4,
        "upstream socket backlog (often PHP-FPM)",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Proxy,
            symptom: Symptom::Signs(|view| log_failures::failures(view, &["socket backlog"])),
            words: |case| {
                log_failures::words(
                    case,
                    "the backlog of an upstream's socket",
                    "the queue of a Unix socket behind nginx was full",
                )
            },
            remedy: "add processes behind the socket (PHP-FPM: `pm.max_children`), or lengthen \
                 the queue (`listen.backlog`, with net.core.somaxconn)",
            explains: &[],
        }],
    ),
    Rule::new(
        X5,
        "all peers ejected by `max_fails`",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Proxy,
            symptom: Symptom::Signs(|view| log_failures::failures(view, &["no upstream"])),
            words: |case| {
                log_failures::words(
                    case,
                    "upstreams that nginx has marked as down",
                    "nginx had marked all upstreams as unavailable after failures",
                )
            },
            remedy: "find why they failed; then adjust `max_fails` and `fail_timeout` of the \
                 `server` lines",
            explains: &[],
        }],
    ),
    Rule::new(
        X7,
        "upstream slow",
        &[Check {
            strength: Strength::Decomposition,
            tier: Tier::Proxy,
            symptom: Symptom::Change(slow),
            words: slow_words,
            remedy: "watch the application behind nginx and its database too, and find what \
                 their requests wait for",
            explains: &[],
        }],
    )
    .with_role(Role::Addition)
    .follows_like(&[H4, R1]),
];

fn time(at: &str, phase: &str) -> String {
    metric::series(metric::NGINX_TIME, &[("at", at), ("phase", phase)])
}

/// Addresses of logs with times of a phase.
fn logs<'a>(view: &View<'a>, phase: &'a str) -> impl Iterator<Item = &'a str> {
    let own = view.series_of(metric::NGINX_TIME);
    own.filter(move |series| label(series, "phase") == Some(phase))
        .map(place)
}

/// X7: servers take connections at once, and long to answer.
fn slow(over: &Stretch3<'_>) -> Vec<Sign> {
    let view = &over.failing;
    let bound_s = view.context.bound_us.map(|bound| bound as f64 / 1e6);
    let slow_s = SLOW_MIN_S.max(SLOW_SHARE * bound_s.unwrap_or(0.0));
    let signs = logs(view, "header").filter_map(|at| {
        let header = time(at, "header");
        let now = view.mean(&header)?;
        let grew = before(over, |view| view.mean(&header)).is_none_or(|low| now >= SLOWER * low);
        let connect = view.mean(&time(at, "connect")).unwrap_or(0.0);
        let label_set = metric::series("", &[("at", at)]);
        Some(Sign::of(
            &label_set,
            now,
            now > slow_s && grew && connect <= CONNECT_SHARE * now,
        ))
    });
    signs.collect()
}

fn slow_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let [header, connect, whole] = ["header", "connect", "request"].map(|phase| time(at, phase));
    let ms = |series: &str| view.mean(series).map(|seconds| seconds * 1e3);
    let mut sentence = format!(
        "servers behind nginx took {:.0} ms to the first byte (95th percentile)",
        ms(&header).unwrap_or(0.0)
    );
    if let Some(low) = before(case.over, |view| view.mean(&header)) {
        append_clause(
            &mut sentence,
            format_args!(", {:.0} ms at low load", low * 1e3),
        );
    }
    if let Some(connect) = ms(&connect) {
        append_clause(
            &mut sentence,
            format_args!(
                ", and accepted connections within {connect:.0} ms: they are slow, not full"
            ),
        );
    }
    Words::new(format!("servers behind nginx are slow ({at})"), sentence)
        .with(case.line(&header, "time to a server's first byte, 95th percentile"))
        .with(case.line(&connect, "time to connect to a server, 95th percentile"))
        .with(case.line(&whole, "time of a request, 95th percentile"))
}

/// X3: connecting takes ten times as long as at low load.
fn slow_to_connect(over: &Stretch3<'_>) -> Vec<Sign> {
    let view = &over.failing;
    let signs = logs(view, "connect").filter_map(|at| {
        let connect = time(at, "connect");
        let now = view.mean(&connect)?;
        let low = before(over, |view| view.mean(&connect))?;
        let label_set = metric::series("", &[("at", at)]);
        Some(Sign::of(
            &label_set,
            now,
            now > CONNECT_MIN_S && now >= CONNECT_SLOWER * low,
        ))
    });
    signs.collect()
}

fn slow_to_connect_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let connect = time(at, "connect");
    let low = before(case.over, |view| view.mean(&connect)).unwrap_or(0.0);
    let sentence = format!(
        "nginx took {:.0} ms to connect to a server (95th percentile), and {:.0} ms at low load",
        view.mean(&connect).unwrap_or(0.0) * 1e3,
        low * 1e3
    );
    let line = case.line(&connect, "time to connect to a server, 95th percentile");
    Words::new(
        format!("an upstream of nginx accepts no connections ({at})"),
        sentence,
    )
    .with(bounded(line, Some(CONNECT_SLOWER * low)))
}
