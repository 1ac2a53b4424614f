//! The table of rules, continued: runtimes and databases. Thresholds are those of the method's rule table; decision 0192 says where
//! they differ.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;

use crate::diagnosis::rule::{FindingRule, Symptom};
use crate::diagnosis::rule_id::RuleId::{
    A0, C1, C3, H1, H4, H7, H9, J1, N1, P1, P2, P3, P4, P5, P6, P7, P8, P9, P10, P11, P12, Q1, Q2,
    Q3, Q4, Q5, Q6, Q7, Q8, Q9, R1, R2, R3, X1, X2, X3, X4,
};
use crate::rules::postgres::work;
use crate::rules::{mysql, php_fpm, postgres};

pub(crate) const RULES: &[FindingRule] = &[
    FindingRule {
        id: J1,
        strength: Strength::Queue,
        tier: Tier::Runtime,
        symptom: Symptom::Signs(php_fpm::node),
        words: php_fpm::node_words,
        remedy: "move computation off the loop (worker threads, asynchronous calls of crypto, zlib and fs), run one \
            process per CPU (`node:cluster`, `pm2 -i max`), or cache results",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4, C3],
    },
    FindingRule {
        id: R1,
        strength: Strength::Queue,
        tier: Tier::Runtime,
        symptom: Symptom::Signs(php_fpm::puma),
        words: php_fpm::puma_words,
        remedy: "give Puma more threads or workers",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4],
    },
    FindingRule {
        id: R3,
        strength: Strength::Explicit,
        tier: Tier::Runtime,
        symptom: Symptom::Signs(php_fpm::php_fpm),
        words: php_fpm::php_fpm_words,
        remedy: "raise `pm.max_children`",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4],
    },
    FindingRule {
        id: P1,
        strength: Strength::Explicit,
        tier: Tier::Store,
        symptom: Symptom::Signs(postgres::connections),
        words: postgres::connections_words,
        remedy: "let clients share sessions",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0, P11],
    },
    FindingRule {
        id: P2,
        strength: Strength::Queue,
        tier: Tier::Store,
        symptom: Symptom::Signs(postgres::cpu),
        words: postgres::cpu_words,
        remedy: "find the most expensive statements and add an index for them, cache their results, or add CPUs or \
            replicas",
        explains: &[
            N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0, P11, P1, P4, C1,
        ],
    },
    FindingRule {
        id: P3,
        strength: Strength::Queue,
        tier: Tier::Store,
        symptom: Symptom::Signs(postgres::locks),
        words: postgres::locks_words,
        remedy: "make transactions shorter, take locks in one order, split rows that all transactions write, or put \
            the writes in a queue",
        explains: &[
            N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0, P11, P1, P4,
        ],
    },
    FindingRule {
        id: P4,
        strength: Strength::Queue,
        tier: Tier::Store,
        symptom: Symptom::Signs(postgres::light_locks),
        words: postgres::light_locks_words,
        remedy: "use fewer sessions at once, partition the table, or commit in batches",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0, P11, P1],
    },
    FindingRule {
        id: P5,
        strength: Strength::Queue,
        tier: Tier::Store,
        symptom: Symptom::Signs(postgres::reads),
        words: postgres::reads_words,
        remedy: "read less: add an index for the columns searched; then add memory",
        explains: &[
            N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0, P11, P1, P4,
        ],
    },
    FindingRule {
        id: P6,
        strength: Strength::Queue,
        tier: Tier::Store,
        symptom: Symptom::Signs(postgres::commits),
        words: postgres::commits_words,
        remedy: "commit several rows at once, give the log a faster disk, or accept losing the last moments with \
            `synchronous_commit = off`",
        explains: &[
            N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0, P11, P1, P4,
        ],
    },
    FindingRule {
        id: P7,
        strength: Strength::Queue,
        tier: Tier::Store,
        symptom: Symptom::Signs(work::scans),
        words: work::scans_words,
        remedy: "give the table an index",
        explains: &[
            N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0, P11, P1, P2, P4, P5, C1,
        ],
    },
    FindingRule {
        id: P8,
        strength: Strength::Queue,
        tier: Tier::Store,
        symptom: Symptom::Signs(work::idle),
        words: work::idle_words,
        remedy: "end transactions before waiting for anything else, and let the server end idle ones: `ALTER SYSTEM \
            SET idle_in_transaction_session_timeout = '10s'`, then `SELECT pg_reload_conf()`",
        explains: &[
            N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0, P11, P1, P3,
        ],
    },
    FindingRule {
        id: P9,
        strength: Strength::Queue,
        tier: Tier::Store,
        symptom: Symptom::Increase {
            metric: metric::POSTGRES_TEMPORARY,
        },
        words: work::spills_words,
        remedy: "raise `work_mem`",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0, P11],
    },
    FindingRule {
        id: P10,
        strength: Strength::Queue,
        tier: Tier::Store,
        symptom: Symptom::Signs(work::checkpoints),
        words: work::checkpoints_words,
        remedy: "raise `max_wal_size`",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0, P11],
    },
    FindingRule {
        id: P12,
        strength: Strength::Explicit,
        tier: Tier::Store,
        symptom: Symptom::Increase {
            metric: metric::POSTGRES_DEADLOCKS,
        },
        words: work::deadlocks_words,
        remedy: "let all transactions take their locks in one order",
        explains: &[],
    },
    FindingRule {
        id: Q1,
        strength: Strength::Explicit,
        tier: Tier::Store,
        symptom: Symptom::Signs(mysql::connections),
        words: mysql::connections_words,
        remedy: "let clients share sessions",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0],
    },
    FindingRule {
        id: Q2,
        strength: Strength::Queue,
        tier: Tier::Store,
        symptom: Symptom::Signs(mysql::cpu),
        words: mysql::cpu_words,
        remedy: "find the most expensive statements and add an index for them, cache their results, or let fewer run \
            at once",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0, Q1, C1],
    },
    FindingRule {
        id: Q3,
        strength: Strength::Queue,
        tier: Tier::Store,
        symptom: Symptom::Signs(mysql::scans),
        words: mysql::scans_words,
        remedy: "give the table an index",
        explains: &[
            N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0, Q1, Q2, Q7, C1,
        ],
    },
    FindingRule {
        id: Q4,
        strength: Strength::Decomposition,
        tier: Tier::Store,
        symptom: Symptom::Signs(mysql::sorts),
        words: mysql::sorts_words,
        remedy: "let an index give the order",
        explains: &[
            N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0, Q1, Q2, C1,
        ],
    },
    FindingRule {
        id: Q5,
        strength: Strength::Decomposition,
        tier: Tier::Store,
        symptom: Symptom::Signs(mysql::temporary),
        words: mysql::temporary_words,
        remedy: "select fewer and shorter columns",
        explains: &[
            N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0, Q1, Q2, C1,
        ],
    },
    FindingRule {
        id: Q6,
        strength: Strength::Queue,
        tier: Tier::Store,
        symptom: Symptom::Signs(mysql::row_locks),
        words: mysql::row_locks_words,
        remedy: "make transactions shorter, write to a hot row last in the transaction, split rows that all \
            transactions write, or put the writes in a queue",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0, Q1, Q2],
    },
    FindingRule {
        id: Q7,
        strength: Strength::Utilisation,
        tier: Tier::Store,
        symptom: Symptom::Signs(mysql::pool),
        words: mysql::pool_words,
        remedy: "raise `innodb_buffer_pool_size`",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0, Q1],
    },
    FindingRule {
        id: Q8,
        strength: Strength::Explicit,
        tier: Tier::Store,
        symptom: Symptom::Increase {
            metric: metric::MYSQL_LOG_WAITS,
        },
        words: mysql::log_words,
        remedy: "give the redo log more room",
        explains: &[],
    },
    FindingRule {
        id: Q9,
        strength: Strength::Explicit,
        tier: Tier::Store,
        symptom: Symptom::Increase {
            metric: metric::MYSQL_POOL_WAITS,
        },
        words: mysql::flush_words,
        remedy: "write changed pages faster",
        explains: &[],
    },
];
