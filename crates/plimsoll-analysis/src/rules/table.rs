//! The table of rules. Thresholds are those of the method's rule table; a threshold that differs says why.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;

use crate::diagnosis::bounds::{NEARLY_FULL, THROTTLED_MAX};
use crate::diagnosis::rule::{FindingRule, Symptom};
use crate::diagnosis::rule_id::RuleId::{
    A0, C1, C2, C3, F1, G1, G2, G3, H1, H2, H7, H10, J2, K1, K2, K4, K5, K6, M2, N1, N12, P11, R1,
    R2, R3, X1, X2,
};
use crate::rules::host::cpu::{busy, thread};
use crate::rules::host::network::accept_queue;
use crate::rules::{
    generator, haproxy, redis, table_databases, table_engines, table_host, table_logs, table_pools,
    table_servers, table_service, table_traces,
};

/// Every rule.
pub(crate) fn all() -> impl Iterator<Item = &'static FindingRule> {
    RULES
        .iter()
        .chain(table_databases::RULES)
        .chain(table_servers::RULES)
        .chain(table_engines::RULES)
        .chain(table_pools::RULES)
        .chain(table_traces::RULES)
        .chain(table_logs::RULES)
        .chain(table_host::RULES)
        .chain(table_service::RULES)
}

const RULES: &[FindingRule] = &[
    FindingRule {
        id: G1,
        strength: Strength::Explicit,
        tier: Tier::Generator,
        symptom: Symptom::Signs(generator::late),
        words: generator::late_words,
        remedy: "give the generator more cores (--cores) or a machine of its own; measurements taken while it was late \
            do not describe the target",
        explains: &[],
    },
    FindingRule {
        id: G2,
        strength: Strength::Explicit,
        tier: Tier::Generator,
        symptom: Symptom::Signs(generator::ports),
        words: generator::ports_words,
        remedy: "keep connections alive, connect from more addresses (--source), or widen \
                 net.ipv4.ip_local_port_range; a port stays in TIME_WAIT for 60 s before reuse",
        explains: &[],
    },
    FindingRule {
        id: G3,
        strength: Strength::Explicit,
        tier: Tier::Generator,
        symptom: Symptom::Signs(generator::descriptors),
        words: generator::descriptors_words,
        remedy: "raise the generator's limit of open files (ulimit -n) or lower --max-connections",
        explains: &[],
    },
    FindingRule {
        id: N1,
        strength: Strength::Explicit,
        tier: Tier::Network,
        symptom: Symptom::Increase {
            metric: metric::LISTEN_OVERFLOWS,
        },
        words: accept_queue::overflow_words,
        remedy: "raise the backlog that the application passes to listen() and net.core.somaxconn, which caps it; \
                 accept faster or run more workers; keep connections alive",
        explains: &[],
    },
    FindingRule {
        id: N12,
        strength: Strength::Explicit,
        tier: Tier::Network,
        symptom: Symptom::Fill {
            level: metric::PORTS_USED,
            limit: metric::PORTS_LIMIT,
            with: ("process", "other"),
            above: NEARLY_FULL,
        },
        words: accept_queue::upstream_ports_words,
        remedy: "keep connections to the upstream alive in a pool, give the upstream more addresses or ports, or widen \
                 net.ipv4.ip_local_port_range",
        explains: &[],
    },
    FindingRule {
        id: C1,
        strength: Strength::Queue,
        tier: Tier::Machine,
        symptom: Symptom::Signs(busy::busy),
        words: busy::busy_words,
        remedy: "find the hot path with a profiler, cache its results, or add cores or replicas",
        explains: &[N1, X1, X2, H1, H7, R1, R2, R3, A0, P11, J2],
    },
    FindingRule {
        id: C2,
        strength: Strength::Explicit,
        tier: Tier::Machine,
        symptom: Symptom::Ratio {
            part: metric::CGROUP_CPU_THROTTLED,
            whole: metric::CGROUP_CPU_PERIODS,
            above: THROTTLED_MAX,
        },
        words: thread::quota_words,
        remedy: "raise the CPU quota of the container or service, and run no more threads than the quota has CPUs",
        explains: &[N1, C3, X1, X2, H1, H7, R1, R2, R3, A0, P11, J2],
    },
    FindingRule {
        id: C3,
        strength: Strength::Utilisation,
        tier: Tier::Machine,
        symptom: Symptom::Signs(thread::thread),
        words: thread::thread_words,
        remedy: "run more processes or workers, or move work off this thread (event loop, interpreter lock, single \
                 worker)",
        explains: &[N1, X1, X2, H1, H7, R1, R2, R3, A0],
    },
    FindingRule {
        id: M2,
        strength: Strength::Explicit,
        tier: Tier::Machine,
        symptom: Symptom::Signs(thread::killed),
        words: thread::killed_words,
        remedy: "raise the memory limit, run fewer workers, or find what grows",
        explains: &[N1, X1, X2, H1, H7, R1, R2, R3, A0],
    },
    FindingRule {
        id: F1,
        strength: Strength::Explicit,
        tier: Tier::Machine,
        symptom: Symptom::Signs(thread::files),
        words: thread::files_words,
        remedy: "raise the limit of open files (ulimit -n, LimitNOFILE, worker_rlimit_nofile), or find the descriptor leak",
        explains: &[N1, X1, X2, H1, H7, R1, R2, R3, A0],
    },
    FindingRule {
        id: X1,
        strength: Strength::Explicit,
        tier: Tier::Proxy,
        symptom: Symptom::Increase {
            metric: metric::NGINX_DROPPED,
        },
        words: haproxy::nginx_dropped_words,
        remedy: "raise `worker_connections`",
        explains: &[N1],
    },
    FindingRule {
        id: X2,
        strength: Strength::Utilisation,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(haproxy::nginx_nearly_full),
        words: haproxy::nginx_nearly_full_words,
        remedy: "raise `worker_connections`",
        explains: &[N1],
    },
    FindingRule {
        id: H1,
        strength: Strength::Explicit,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(haproxy::server_queue),
        words: haproxy::server_queue_words,
        remedy: "raise the server's `maxconn`",
        explains: &[N1, X1, X2, H7],
    },
    FindingRule {
        id: H2,
        strength: Strength::Explicit,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(haproxy::refused),
        words: haproxy::refused_words,
        remedy: "find why the server accepts no connections: it is down, or its accept queue is full (its backlog and \
                 net.core.somaxconn); start or add servers",
        explains: &[],
    },
    FindingRule {
        id: H7,
        strength: Strength::Queue,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(haproxy::frontend_full),
        words: haproxy::frontend_full_words,
        remedy: "raise `maxconn`",
        explains: &[N1, X1, X2],
    },
    FindingRule {
        id: H10,
        strength: Strength::Utilisation,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(haproxy::busy),
        words: haproxy::busy_words,
        remedy: "give HAProxy more threads (`nbthread`), resume TLS sessions or terminate TLS elsewhere, and keep \
            connections alive",
        explains: &[N1],
    },
    FindingRule {
        id: K1,
        strength: Strength::Utilisation,
        tier: Tier::Store,
        symptom: Symptom::Signs(redis::redis_thread),
        words: redis::redis_thread_words,
        remedy: "send fewer and smaller commands, in pipelines; cache in the application, spread keys over several \
            instances, or set `io-threads`",
        explains: &[N1, X1, X2, H1, H7, R1, R2, R3, A0],
    },
    FindingRule {
        id: K2,
        strength: Strength::Explicit,
        tier: Tier::Store,
        symptom: Symptom::Increase {
            metric: metric::REDIS_EVICTED,
        },
        words: redis::redis_evicted_words,
        remedy: "raise `maxmemory`",
        explains: &[N1, X1, X2, H1, H7, R1, R2, R3, A0],
    },
    FindingRule {
        id: K2,
        strength: Strength::Explicit,
        tier: Tier::Store,
        symptom: Symptom::Increase {
            metric: metric::REDIS_OUT_OF_MEMORY,
        },
        words: redis::redis_refused_words,
        remedy: "raise `maxmemory`",
        explains: &[],
    },
    FindingRule {
        id: K4,
        strength: Strength::Explicit,
        tier: Tier::Store,
        symptom: Symptom::Increase {
            metric: metric::REDIS_REJECTED,
        },
        words: redis::redis_rejected_words,
        remedy: "raise `maxclients`",
        explains: &[],
    },
    FindingRule {
        id: K5,
        strength: Strength::Queue,
        tier: Tier::Store,
        symptom: Symptom::Increase {
            metric: metric::REDIS_FSYNC_DELAYED,
        },
        words: redis::redis_fsync_words,
        remedy: "let a replica write the append-only file, set `appendfsync no`, or give it a faster disk",
        explains: &[],
    },
    FindingRule {
        id: K6,
        strength: Strength::Explicit,
        tier: Tier::Store,
        symptom: Symptom::Increase {
            metric: metric::MEMCACHED_REFUSED,
        },
        words: redis::memcached_connections_words,
        remedy: "raise memcached's connections (-c)",
        explains: &[N1, X1, X2, H1, H7, R1, R2, R3, A0],
    },
    FindingRule {
        id: K6,
        strength: Strength::Explicit,
        tier: Tier::Store,
        symptom: Symptom::Increase {
            metric: metric::MEMCACHED_EVICTIONS,
        },
        words: redis::memcached_evictions_words,
        remedy: "give memcached more memory (-m)",
        explains: &[N1, X1, X2, H1, H7, R1, R2, R3, A0],
    },
];
