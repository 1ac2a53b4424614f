//! The table of rules, continued: failure modes of a service as a whole, and the links between its components.
//! Decision 0286 says where thresholds differ from those of the method's rule table, and which are not verified.

use plimsoll_model::finding::{Strength, Tier};

use crate::diagnosis::rule::{FindingRule, Symptom};
use crate::diagnosis::rule_id::RuleId::{
    A0, H1, H4, H7, H9, H11, K3, N1, P2, Q2, R1, R2, R3, S1, S2, S3, S4, S5, S6, S7, S8, V1, X1, X2,
};
use crate::rules::haproxy::balance;
use crate::rules::{caches, redis, service};

pub(crate) const RULES: &[FindingRule] = &[
    FindingRule {
        id: H11,
        strength: Strength::Decomposition,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(balance::uneven),
        words: balance::uneven_words,
        remedy: "balance by requests in flight (`balance leastconn` in HAProxy, `least_conn` in nginx), and find why \
            that server is slower: its machine, its neighbours, its version",
        explains: &[],
    },
    FindingRule {
        id: K3,
        strength: Strength::Explicit,
        tier: Tier::Store,
        symptom: Symptom::Change(redis::redis_slow),
        words: redis::redis_slow_words,
        remedy: "request less at once",
        explains: &[N1, X1, X2, H1, H4, H7, H9, R1, R2, R3, A0],
    },
    FindingRule {
        id: S1,
        strength: Strength::Decomposition,
        tier: Tier::Proxy,
        symptom: Symptom::Change(service::collapse),
        words: service::collapse_words,
        remedy: "reject early the requests that cannot be served in time: limit requests in flight (`maxconn` of \
            HAProxy's servers, `limit_conn` in nginx, `plimsoll edge` with its adaptive limit), and limit retries",
        explains: &[],
    },
    FindingRule {
        id: S2,
        strength: Strength::Explicit,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(service::retries),
        words: service::retries_words,
        remedy: "find why connections fail; then limit retries to a tenth of the requests, with exponential backoff \
            and jitter (`retries 1` in HAProxy, `proxy_next_upstream_tries` in nginx)",
        explains: &[],
    },
    FindingRule {
        id: S3,
        strength: Strength::Decomposition,
        tier: Tier::Proxy,
        symptom: Symptom::Change(service::late),
        words: service::late_words,
        remedy: "give each request a deadline and drop requests past it; serve the newest first under overload; keep \
            queues short (`timeout queue` in HAProxy, `listen.backlog` of PHP-FPM)",
        explains: &[],
    },
    FindingRule {
        id: S4,
        strength: Strength::Queue,
        tier: Tier::Store,
        symptom: Symptom::Signs(caches::stampede),
        words: caches::stampede_words,
        remedy: "let one fetch serve all waiting requests (`proxy_cache_lock on` in nginx, collapsing in `plimsoll \
            edge`), serve stale responses meanwhile (`proxy_cache_use_stale updating`), and let responses expire at \
            different times",
        explains: &[P2, Q2],
    },
    FindingRule {
        id: S5,
        strength: Strength::Decomposition,
        tier: Tier::Store,
        symptom: Symptom::Change(caches::missing),
        words: caches::missing_words,
        remedy: "give the cache more memory, remove from its keys what does not change the answer (tracking \
            parameters, their order), and do not store responses requested only once",
        explains: &[V1],
    },
    FindingRule {
        id: S6,
        strength: Strength::Decomposition,
        tier: Tier::Runtime,
        symptom: Symptom::Signs(service::periodic),
        words: service::periodic_words,
        remedy: "find what runs with that period (cron, garbage collection, checkpoints, flushes of logs) and spread \
            it, or do it at a quieter time",
        explains: &[],
    },
    FindingRule {
        id: S7,
        strength: Strength::Decomposition,
        tier: Tier::Proxy,
        symptom: Symptom::Change(balance::cold),
        words: balance::cold_words,
        remedy: "let a new server start with a small share (`slowstart 30s` on HAProxy's `server` line), and warm it \
            up before it receives requests (caches, just-in-time compilation, pools)",
        explains: &[H11],
    },
    FindingRule {
        id: S8,
        strength: Strength::Decomposition,
        tier: Tier::Runtime,
        symptom: Symptom::Change(service::expensive),
        words: service::expensive_words,
        remedy: "make it cheaper (its statements, cached answers), give it dedicated workers, or serve it after the \
            other requests under load",
        explains: &[],
    },
];
