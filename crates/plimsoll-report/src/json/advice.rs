//! Objects of advice beside the named limits.

use plimsoll_analysis::{payload, statements};
use plimsoll_model::run::Run;
use schemars::JsonSchema;
use serde::Serialize;

/// Something to do.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Advice")]
pub struct AdviceObject {
    /// What it is about: `statement` or `payload`.
    pub about: String,
    /// The observation.
    pub reason: String,
    /// What to do.
    pub remedy: String,
    /// Statements that do it; null where their form is not known.
    pub sql: Option<String>,
    /// The database's time that it would save for each request, ms; null for a payload.
    pub saves_ms: Option<f64>,
}

impl AdviceObject {
    /// All advice of a run.
    pub(super) fn all(run: &Run) -> Vec<Self> {
        let of_statements = statements::advice(&statements::of(run)).into_iter();
        let of_statements = of_statements.map(|advice| Self {
            about: "statement".to_owned(),
            reason: advice.reason,
            remedy: advice.remedy,
            sql: advice.sql,
            saves_ms: Some(advice.saves_ms),
        });
        let of_payloads = payload::of(run).into_iter().map(|advice| Self {
            about: "payload".to_owned(),
            reason: advice.reason,
            remedy: advice.remedy.to_owned(),
            sql: None,
            saves_ms: None,
        });
        of_statements.chain(of_payloads).collect()
    }
}
