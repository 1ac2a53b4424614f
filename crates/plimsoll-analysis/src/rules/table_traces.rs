//! The table of rules, continued: traces. Decision 0275 says where thresholds differ from the method's table.

use plimsoll_model::finding::{Strength, Tier};

use crate::diagnosis::rule::{FindingRule, Symptom};
use crate::diagnosis::rule_id::RuleId::{
    self, A0, C1, C3, H1, H4, H7, H9, J1, J7, J8, J9, J10, N1, NPlus1, P1, P2, P4, P11, Q1, Q2, R1,
    R2, R3, X1, X2, X3, X4,
};
use crate::rules::{thread_waits, traces};

/// What is full in front of a service that waits.
pub(crate) const BEFORE: &[RuleId] = &[N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0];
/// The same in front of a service that waits for another.
const BEFORE_CALL: &[RuleId] = &[N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0, J8];

pub(crate) const RULES: &[FindingRule] = &[
    FindingRule {
        id: NPlus1,
        strength: Strength::Decomposition,
        tier: Tier::Store,
        symptom: Symptom::Signs(traces::repeated),
        words: traces::repeated_words,
        remedy: "fetch all rows at once",
        explains: &[
            N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0, J1, P1, P2, P4, P11, Q1, Q2, C1,
            C3, J9,
        ],
    },
    FindingRule {
        id: J7,
        strength: Strength::Decomposition,
        tier: Tier::Runtime,
        symptom: Symptom::Signs(traces::held),
        words: traces::held_words,
        remedy: "release connections before another service is called",
        explains: BEFORE,
    },
    FindingRule {
        id: J9,
        strength: Strength::Decomposition,
        tier: Tier::Runtime,
        symptom: Symptom::Signs(traces::dependency),
        words: traces::dependency_words,
        remedy: "cache its answers, batch calls, or run them in parallel",
        explains: BEFORE_CALL,
    },
    FindingRule {
        id: J9,
        strength: Strength::Decomposition,
        tier: Tier::Runtime,
        symptom: Symptom::Change(thread_waits::dependency),
        words: thread_waits::dependency_words,
        remedy: "find what limits it",
        explains: BEFORE_CALL,
    },
    FindingRule {
        id: J10,
        strength: Strength::Explicit,
        tier: Tier::Runtime,
        symptom: Symptom::Signs(traces::refused),
        words: traces::refused_words,
        remedy: "request a higher quota, cache its answers, retry with backoff",
        explains: &[
            N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0, J7, J8, J9,
        ],
    },
];
