//! The objects of URLs.

use plimsoll_analysis::summary::Summary;
use schemars::JsonSchema;
use serde::Serialize;

use super::steps::AggregateObject;

/// One URL of a plain load, or the URLs of one route where the plan has more than 50. Here `bytes` are those of bodies,
/// without heads.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Url")]
pub struct UrlObject {
    /// Path and query, secrets replaced; a route such as `/orders/{id}` for several URLs; `other` for the rest.
    pub label: String,
    /// URLs of the plan with this label.
    pub urls: u64,
    /// The numbers.
    #[serde(flatten)]
    pub aggregate: AggregateObject,
}

impl UrlObject {
    pub(super) fn all(summary: &Summary) -> Vec<Self> {
        let urls = summary.urls.iter().map(|row| Self {
            label: row.label.clone(),
            urls: row.urls,
            aggregate: AggregateObject::of(&row.metrics),
        });
        urls.collect()
    }
}
