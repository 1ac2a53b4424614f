//! The table of rules, continued: poolers, servers that run applications, and statements that repeat. Decision 0262 says where
//! thresholds differ from the method's table.

use plimsoll_model::finding::{Strength, Tier};

use super::rule::{FindingRule, Symptom};
use super::rule_id::RuleId::{
    A0, C1, C3, H1, H4, H7, H9, J1, N1, NPlus1, P1, P2, P4, P11, Q1, Q2, R1, R2, R3, X1, X2, X3, X4,
};
use super::{repeated, servers};

pub(super) const RULES: &[FindingRule] = &[
    FindingRule {
        id: P11,
        strength: Strength::Queue,
        tier: Tier::Store,
        symptom: Symptom::Signs(servers::pooler),
        words: servers::pooler_words,
        remedy: "give the pool more sessions, if the database has room",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0],
    },
    FindingRule {
        id: A0,
        strength: Strength::Explicit,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(servers::apache),
        words: servers::apache_words,
        remedy: "raise `MaxRequestWorkers`",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4],
    },
    FindingRule {
        id: R2,
        strength: Strength::Queue,
        tier: Tier::Runtime,
        symptom: Symptom::Signs(servers::gunicorn),
        words: servers::gunicorn_words,
        remedy: "give gunicorn more workers",
        explains: &[N1, X1, X2, H1, H4, H7, H9, X3, X4, A0],
    },
    FindingRule {
        id: NPlus1,
        strength: Strength::Decomposition,
        tier: Tier::Store,
        symptom: Symptom::Signs(repeated::statements),
        words: repeated::statements_words,
        remedy: "fetch all rows at once",
        explains: &[
            N1, X1, X2, H1, H4, H7, H9, X3, X4, R1, R2, R3, A0, J1, P1, P2, P4, P11, Q1, Q2, C1, C3,
        ],
    },
];
