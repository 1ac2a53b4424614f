//! The object of a search with an edge before the target.

use plimsoll_model::verdict::Verdict;
use schemars::JsonSchema;
use serde::Serialize;

use super::judgement::EstimateObject;
use super::{Files, LimitObject, LoadLineObject, limit_object};
use crate::report::Report;

/// The result of a search with an edge before the target.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ThroughEdge")]
pub struct ThroughEdgeObject {
    /// The edge's configuration file, as given.
    pub configuration: String,
    /// Verdict of the search, as `verdict` above.
    #[schemars(with = "Option<String>")]
    pub verdict: Option<Verdict>,
    /// The result in one sentence.
    pub answer: String,
    /// The highest load that meets the objective; null with a `reason`.
    pub load_line: Option<LoadLineObject>,
    /// Why there is no load line; null when there is one.
    pub reason: Option<String>,
    /// The estimate where the search could not confirm a line; null with a line, and without an estimate.
    pub estimate: Option<EstimateObject>,
    /// Path of the run log; null when none was written.
    pub run_file: Option<String>,
    /// Path of the HTML report; null when none was written.
    pub report_file: Option<String>,
}

/// The object of `limit --through`: that of the target alone, with the result behind the edge.
pub fn pair_object(
    alone: (&Report<'_>, &Files),
    behind: (&Report<'_>, &Files),
    configuration: &str,
) -> LimitObject {
    let through = limit_object(behind.0, behind.1);
    LimitObject {
        through_edge: Some(ThroughEdgeObject {
            configuration: configuration.to_owned(),
            verdict: through.run.verdict,
            answer: through.run.answer,
            load_line: through.load_line,
            reason: through.reason,
            estimate: through.estimate,
            run_file: through.run.run_file,
            report_file: through.run.report_file,
        }),
        ..limit_object(alone.0, alone.1)
    }
}
