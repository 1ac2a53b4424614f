//! Servers that refuse or fail, resources of HAProxy itself, and clients that give up; from its metrics and its log.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::log_failures;
use crate::diagnosis::measure::increase;
use crate::diagnosis::rule::{Check, Role, Rule, RuleMatch, Sign, Symptom, Words};
use crate::diagnosis::rule_id::RuleId::{H2, H3, H4, H5, H6, H8, H9, S2};
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::haproxy::{BACKEND, FRONTEND};

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        H2,
        "HAProxy: a server refuses connections",
        &[
            Check {
                strength: Strength::Explicit,
                tier: Tier::Proxy,
                symptom: Symptom::Signs(refused),
                words: refused_words,
                remedy: "find why the server accepts no connections: it is down, or its accept \
                 queue is full (its backlog and net.core.somaxconn); start or add servers",
                explains: &[&[S2]],
            },
            Check {
                strength: Strength::Explicit,
                tier: Tier::Proxy,
                symptom: Symptom::Signs(|view| log_failures::failures(view, &["SC"])),
                words: |case| {
                    log_failures::words(
                        case,
                        "a server of HAProxy accepts no connections",
                        "a server refused the connection (SC)",
                    )
                },
                remedy: "start or add servers; check their backlog",
                explains: &[&[S2]],
            },
        ],
    ),
    Rule::new(
        H3,
        "HAProxy: connections to a server time out",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Proxy,
            symptom: Symptom::Signs(|view| log_failures::failures(view, &["sC"])),
            words: |case| {
                log_failures::words(
                    case,
                    "connections to a server of HAProxy",
                    "a connection to a server was not made within `timeout connect` (sC)",
                )
            },
            remedy: "check the accept queue of the server and the network path to it",
            explains: &[&[H9, S2]],
        }],
    ),
    Rule::new(
        H4,
        "HAProxy: a server is slow to answer",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Proxy,
            symptom: Symptom::Signs(|view| log_failures::failures(view, &["sH"])),
            words: |case| {
                log_failures::words(
                    case,
                    "a slow server behind HAProxy",
                    "a server did not answer within `timeout server` (sH)",
                )
            },
            remedy: "find the limit of the server or of its database; a longer timeout does \
                 not help",
            explains: &[&[H9]],
        }],
    ),
    Rule::new(
        H5,
        "HAProxy: a server closes before it has answered",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Proxy,
            symptom: Symptom::Signs(|view| log_failures::failures(view, &["SH"])),
            words: |case| {
                log_failures::words(
                    case,
                    "a server behind HAProxy closes connections",
                    "a server closed the connection before answering (SH)",
                )
            },
            remedy: "check the server's log: it crashed, was killed by the OOM killer, or \
                 recycles its workers",
            explains: &[],
        }],
    ),
    Rule::new(
        H6,
        "HAProxy: answers stop on their way",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Proxy,
            symptom: Symptom::Signs(|view| log_failures::failures(view, &["sD", "SD"])),
            words: |case| {
                log_failures::words(
                    case,
                    "answers cut off in transit",
                    "a server stopped, or closed, in the middle of an answer (sD, SD)",
                )
            },
            remedy: "check the server's log, the network, and idle timeouts",
            explains: &[],
        }],
    ),
    Rule::new(
        H8,
        "HAProxy: its own sockets, ports or memory",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Proxy,
            symptom: Symptom::Signs(|view| log_failures::failures(view, &["PC", "RC"])),
            words: |case| {
                log_failures::words(
                    case,
                    "resources of HAProxy itself",
                    "HAProxy had no socket, port or memory left (PC, RC)",
                )
            },
            remedy: "raise `maxconn` and the limit of open files, and give it more source \
                 addresses",
            explains: &[],
        }],
    )
    .tried_on_series(),
    Rule::new(
        H9,
        "clients gave up: a consequence",
        &[Check {
            strength: Strength::Decomposition,
            tier: Tier::Proxy,
            symptom: Symptom::Signs(|view| log_failures::failures(view, &["CQ", "CH", "CD", "cD"])),
            words: |case| {
                log_failures::words(
                    case,
                    "clients gave up",
                    "clients disconnected before they received their answer (CQ, CH, CD, cD)",
                )
            },
            remedy: "nothing to change here: find what made them wait",
            explains: &[],
        }],
    )
    .with_role(Role::Addition),
];

/// H2: connections to a server fail.
fn refused(view: &View<'_>) -> Vec<Sign> {
    let errors = view.series_of(metric::HAPROXY_CONNECT_ERRORS);
    errors
        .filter(|series| ![Some(BACKEND), Some(FRONTEND)].contains(&label(series, "server")))
        .filter_map(|series| increase(view, series))
        .collect()
}

fn refused_words(case: &RuleMatch<'_>) -> Words {
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
