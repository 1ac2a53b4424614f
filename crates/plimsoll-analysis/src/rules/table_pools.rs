//! The table of rules, continued: pools of a program, and slow requests from logs. Decision 0320 says where
//! thresholds differ from the method's table.

use plimsoll_model::finding::{Strength, Tier};

use crate::diagnosis::rule::{FindingRule, Symptom};
use crate::diagnosis::rule_id::RuleId::{
    A0, C1, C3, H1, H4, H7, H9, J2, J6, J8, J11, N1, P2, Q2, R1, R2, R3, R4, R6, X1, X2, X3, X4, X7,
};
use crate::rules::nginx::upstream;
use crate::rules::table_traces::BEFORE;
use crate::rules::{php_fpm, pools};

pub(crate) const RULES: &[FindingRule] = &[
    FindingRule {
        id: J2,
        strength: Strength::Queue,
        tier: Tier::Runtime,
        symptom: Symptom::Signs(pools::libuv),
        words: pools::libuv_words,
        remedy: "give libuv's pool more threads",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4, A0, C3],
    },
    FindingRule {
        id: J6,
        strength: Strength::Queue,
        tier: Tier::Runtime,
        symptom: Symptom::Signs(pools::to_database),
        words: pools::to_database_words,
        remedy: "raise the pool's size",
        explains: BEFORE,
    },
    FindingRule {
        id: J11,
        strength: Strength::Decomposition,
        tier: Tier::Store,
        symptom: Symptom::Signs(pools::begun_per_request),
        words: pools::begun_per_request_words,
        remedy: "keep sessions: a pool in the application, persistent connections (`PDO::ATTR_PERSISTENT` in PHP, \
                 `CONN_MAX_AGE` in Django), or a pooler before the database (pgbouncer, ProxySQL)",
        explains: &[
            N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0, P2, Q2, C1, C3,
        ],
    },
    FindingRule {
        id: J8,
        strength: Strength::Queue,
        tier: Tier::Runtime,
        symptom: Symptom::Signs(pools::to_http),
        words: pools::to_http_words,
        remedy: "raise the pool's size",
        explains: BEFORE,
    },
    FindingRule {
        id: R4,
        strength: Strength::Decomposition,
        tier: Tier::Runtime,
        symptom: Symptom::Signs(php_fpm::php_slow),
        words: php_fpm::php_slow_words,
        remedy: "fix the slow call",
        explains: &[],
    },
    FindingRule {
        id: R6,
        strength: Strength::Queue,
        tier: Tier::Runtime,
        symptom: Symptom::Signs(pools::dotnet),
        words: pools::dotnet_words,
        remedy: "find what blocks its threads (`dotnet-stack report`, `dotnet-counters monitor`): `.Result`, \
                 `.Wait()`, synchronous I/O; make it asynchronous all the way down; until then \
                 `DOTNET_ThreadPool_MinThreads` (in hexadecimal) or `ThreadPool.SetMinThreads` lets it start with \
                 more",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4, A0],
    },
    FindingRule {
        id: X3,
        strength: Strength::Explicit,
        tier: Tier::Proxy,
        symptom: Symptom::Change(upstream::slow_to_connect),
        words: upstream::slow_to_connect_words,
        remedy: "find why the upstream accepts connections so late: its accept queue is full (its backlog and \
            net.core.somaxconn), or it has too few workers; and keep connections to it alive (`keepalive` in its \
            `upstream { … }`)",
        explains: &[],
    },
    FindingRule {
        id: X7,
        strength: Strength::Decomposition,
        tier: Tier::Proxy,
        symptom: Symptom::Change(upstream::slow),
        words: upstream::slow_words,
        remedy: "watch the application behind nginx and its database too, and find what their requests wait for",
        explains: &[],
    },
];
