//! The table of rules, continued: logs of proxies.

use plimsoll_model::finding::{Strength, Tier};

use crate::diagnosis::rule::{FindingRule, Symptom};
use crate::diagnosis::rule_id::RuleId::{
    H1, H2, H3, H4, H5, H6, H8, H9, N1, X1, X3, X4, X5, X6, X8,
};
use crate::rules::{haproxy, logs};

pub(crate) const RULES: &[FindingRule] = &[
    FindingRule {
        id: X1,
        strength: Strength::Explicit,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(|view| logs::failures(view, &["places"])),
        words: |case| {
            haproxy::nginx_words(
                case,
                logs::frequency(
                    case,
                    "according to its log, nginx had no free slot for a connection",
                ),
            )
        },
        remedy: "raise `worker_connections`",
        explains: &[N1],
    },
    FindingRule {
        id: X3,
        strength: Strength::Explicit,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(|view| logs::failures(view, &["connect"])),
        words: |case| {
            logs::words(
                case,
                "an upstream of nginx accepts no connections",
                "nginx could not connect to an upstream",
            )
        },
        remedy: "find why the upstream accepts no connections: it is down, or its accept queue is full (its backlog \
            and net.core.somaxconn); add workers there, and `keepalive` in its `upstream { … }`",
        explains: &[],
    },
    FindingRule {
        id: X4,
        strength: Strength::Explicit,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(|view| logs::failures(view, &["socket backlog"])),
        words: |case| {
            logs::words(
                case,
                "the backlog of an upstream's socket",
                "the queue of a Unix socket behind nginx was full",
            )
        },
        remedy: "add processes behind the socket (PHP-FPM: `pm.max_children`), or lengthen the queue \
            (`listen.backlog`, with net.core.somaxconn)",
        explains: &[],
    },
    FindingRule {
        id: X5,
        strength: Strength::Explicit,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(|view| logs::failures(view, &["no upstream"])),
        words: |case| {
            logs::words(
                case,
                "upstreams that nginx has marked as down",
                "nginx had marked all upstreams as unavailable after failures",
            )
        },
        remedy: "find why they failed; then adjust `max_fails` and `fail_timeout` of the `server` lines",
        explains: &[],
    },
    FindingRule {
        id: X6,
        strength: Strength::Explicit,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(|view| logs::failures(view, &["limited"])),
        words: |case| {
            logs::words(
                case,
                "a limit configured in nginx",
                "nginx delayed or rejected requests because of `limit_req` or `limit_conn`",
            )
        },
        remedy: "if that is not intended, raise `rate` and `burst` of its `limit_req`, or `limit_conn`",
        explains: &[],
    },
    FindingRule {
        id: X8,
        strength: Strength::Decomposition,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(|view| logs::failures(view, &["buffered"])),
        words: |case| {
            logs::words(
                case,
                "buffers of nginx",
                "nginx wrote an answer or a request to a temporary file, because its buffers were too small",
            )
        },
        remedy: "raise `proxy_buffers` (or `fastcgi_buffers`, `client_body_buffer_size`), or turn buffering off \
            (`proxy_buffering off`)",
        explains: &[],
    },
    FindingRule {
        id: H1,
        strength: Strength::Explicit,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(|view| logs::failures(view, &["sQ"])),
        words: |case| {
            logs::words(
                case,
                "HAProxy's queue before a server",
                "requests waited in HAProxy longer than `timeout queue` (sQ)",
            )
        },
        remedy: "raise the server's `maxconn` if the server is idle; otherwise examine the components behind it",
        explains: &[H9],
    },
    FindingRule {
        id: H2,
        strength: Strength::Explicit,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(|view| logs::failures(view, &["SC"])),
        words: |case| {
            logs::words(
                case,
                "a server of HAProxy accepts no connections",
                "a server refused the connection (SC)",
            )
        },
        remedy: "start or add servers; check their backlog",
        explains: &[],
    },
    FindingRule {
        id: H3,
        strength: Strength::Explicit,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(|view| logs::failures(view, &["sC"])),
        words: |case| {
            logs::words(
                case,
                "connections to a server of HAProxy",
                "a connection to a server was not made within `timeout connect` (sC)",
            )
        },
        remedy: "check the accept queue of the server and the network path to it",
        explains: &[H9],
    },
    FindingRule {
        id: H4,
        strength: Strength::Queue,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(|view| logs::failures(view, &["sH"])),
        words: |case| {
            logs::words(
                case,
                "a slow server behind HAProxy",
                "a server did not answer within `timeout server` (sH)",
            )
        },
        remedy: "find the limit of the server or of its database; a longer timeout does not help",
        explains: &[H9],
    },
    FindingRule {
        id: H5,
        strength: Strength::Explicit,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(|view| logs::failures(view, &["SH"])),
        words: |case| {
            logs::words(
                case,
                "a server behind HAProxy closes connections",
                "a server closed the connection before answering (SH)",
            )
        },
        remedy: "check the server's log: it crashed, was killed by the OOM killer, or recycles its workers",
        explains: &[],
    },
    FindingRule {
        id: H6,
        strength: Strength::Explicit,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(|view| logs::failures(view, &["sD", "SD"])),
        words: |case| {
            logs::words(
                case,
                "answers cut off in transit",
                "a server stopped, or closed, in the middle of an answer (sD, SD)",
            )
        },
        remedy: "check the server's log, the network, and idle timeouts",
        explains: &[],
    },
    FindingRule {
        id: H8,
        strength: Strength::Explicit,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(|view| logs::failures(view, &["PC", "RC"])),
        words: |case| {
            logs::words(
                case,
                "resources of HAProxy itself",
                "HAProxy had no socket, port or memory left (PC, RC)",
            )
        },
        remedy: "raise `maxconn` and the limit of open files, and give it more source addresses",
        explains: &[],
    },
    FindingRule {
        id: H9,
        strength: Strength::Decomposition,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(|view| logs::failures(view, &["CQ", "CH", "CD", "cD"])),
        words: |case| {
            logs::words(
                case,
                "clients gave up",
                "clients disconnected before they received their answer (CQ, CH, CD, cD)",
            )
        },
        remedy: "nothing to change here: find what made them wait",
        explains: &[],
    },
];
