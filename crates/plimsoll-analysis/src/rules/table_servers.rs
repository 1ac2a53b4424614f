//! The table of rules, continued: poolers, servers that run applications, and statements that repeat. Decision 0262 says where
//! thresholds differ from the method's table.

use plimsoll_model::finding::{Strength, Tier};

use crate::diagnosis::rule::{FindingRule, Symptom};
use crate::diagnosis::rule_id::RuleId::{
    A0, C1, C3, H1, H4, H7, H9, J1, N1, NPlus1, P1, P2, P4, P11, Q1, Q2, R1, R2, R3, X1, X2, X3, X4,
};
use crate::rules::{apache, repeated_statements};

pub(crate) const RULES: &[FindingRule] = &[
    FindingRule {
        id: P11,
        strength: Strength::Queue,
        tier: Tier::Store,
        symptom: Symptom::Signs(apache::pooler),
        words: apache::pooler_words,
        remedy: "give the pool more sessions, if the database has room",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0],
    },
    FindingRule {
        id: A0,
        strength: Strength::Explicit,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(apache::apache),
        words: apache::apache_words,
        remedy: "raise `MaxRequestWorkers`",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4],
    },
    FindingRule {
        id: R2,
        strength: Strength::Queue,
        tier: Tier::Runtime,
        symptom: Symptom::Signs(apache::gunicorn),
        words: apache::gunicorn_words,
        remedy: "give gunicorn more workers",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4, A0],
    },
    FindingRule {
        id: NPlus1,
        strength: Strength::Decomposition,
        tier: Tier::Store,
        symptom: Symptom::Signs(repeated_statements::statements),
        words: repeated_statements::statements_words,
        remedy: "fetch all rows at once",
        explains: &[
            N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0, J1, P1, P2, P4, P11, Q1, Q2, C1, C3,
        ],
    },
];
