//! The table of rules, continued: JVMs, programs in Go, uWSGI, Varnish and MongoDB. Decisions 0270 to 0272 say where thresholds differ
//! from the method's table.

use plimsoll_model::finding::{Strength, Tier};

use crate::diagnosis::rule::{FindingRule, Symptom};
use crate::diagnosis::rule_id::RuleId::{
    A0, C1, C3, H1, H4, H7, H9, J3, J4, J5, K7, N1, R1, R2, R3, R5, V1, X1, X2, X3, X4,
};
use crate::rules::{jvm, mongo};

pub(crate) const RULES: &[FindingRule] = &[
    FindingRule {
        id: J4,
        strength: Strength::Queue,
        tier: Tier::Runtime,
        symptom: Symptom::Signs(jvm::jvm_heap),
        words: jvm::jvm_heap_words,
        remedy: "raise `-Xmx`, or find the leak",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4, A0, J3, J5, C1, C3],
    },
    // A share of a third of the time explains the shortage; a tenth does not.
    FindingRule {
        id: J3,
        strength: Strength::Queue,
        tier: Tier::Runtime,
        symptom: Symptom::Signs(jvm::jvm_collects_most),
        words: jvm::jvm_collects_words,
        remedy: "give the JVM a larger heap",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4, A0, J5, C1, C3],
    },
    FindingRule {
        id: J3,
        strength: Strength::Queue,
        tier: Tier::Runtime,
        symptom: Symptom::Signs(jvm::jvm_collects),
        words: jvm::jvm_collects_words,
        remedy: "give the JVM a larger heap",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4, A0],
    },
    FindingRule {
        id: J5,
        strength: Strength::Queue,
        tier: Tier::Runtime,
        symptom: Symptom::Signs(jvm::jvm_pool),
        words: jvm::jvm_pool_words,
        remedy: "give the pool more threads",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4, A0],
    },
    FindingRule {
        id: R2,
        strength: Strength::Queue,
        tier: Tier::Runtime,
        symptom: Symptom::Signs(jvm::uwsgi),
        words: jvm::uwsgi_words,
        remedy: "give uWSGI more workers",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4, A0],
    },
    FindingRule {
        id: R5,
        strength: Strength::Queue,
        tier: Tier::Runtime,
        symptom: Symptom::Signs(jvm::go_collector),
        words: jvm::go_collector_words,
        remedy: "let the heap grow further between collections: raise `GOGC` (100 without it), or set `GOGC=off` \
                 with `GOMEMLIMIT` below the available memory; allocate less per request: `go tool pprof \
                 http://…/debug/pprof/allocs` shows where",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4, A0, C1, C3],
    },
    FindingRule {
        id: R5,
        strength: Strength::Queue,
        tier: Tier::Runtime,
        symptom: Symptom::Signs(jvm::go_scheduler),
        words: jvm::go_scheduler_words,
        remedy: "set GOMAXPROCS to the number of CPUs or to the quota of the program",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4, A0, C3],
    },
    FindingRule {
        id: V1,
        strength: Strength::Explicit,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(jvm::varnish),
        words: jvm::varnish_words,
        remedy: "raise `thread_pool_max`",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4],
    },
    FindingRule {
        id: K7,
        strength: Strength::Queue,
        tier: Tier::Store,
        symptom: Symptom::Signs(mongo::tickets),
        words: mongo::tickets_words,
        remedy: "find what its operations wait for",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0],
    },
];
