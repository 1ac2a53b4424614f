//! What each worker of a load did, for the document; known when the load has ended.

use plimsoll_model::worker::WorkerRecord;
use serde_json::{Value, json};

use crate::text::clip;

/// The rows of the table of workers; times in µs.
pub(crate) fn entries(records: &[WorkerRecord]) -> Value {
    records.iter().map(entry).collect()
}

fn entry(record: &WorkerRecord) -> Value {
    let at = |quantile: f64| record.response.quantile(quantile);
    json!({
        "name": clip(&record.name),
        "region": record.region.as_deref().map(clip),
        "offered": record.offered,
        "completed": record.requests(),
        "failed": record.outcomes.failed(),
        "p50": at(0.5),
        "p95": at(0.95),
        "p99": at(0.99),
        "lag_p99": record.judged.lag.quantile(0.99),
        "lost_at": record.lost_at,
    })
}

#[cfg(test)]
mod tests {
    use plimsoll_model::outcome::Outcome;

    use super::*;

    #[test]
    fn a_worker_is_a_row_and_what_it_did_not_measure_is_null() {
        let mut busy = WorkerRecord {
            name: "load-1".to_owned(),
            region: Some("near".to_owned()),
            offered: 4,
            lost_at: Some(9),
            ..WorkerRecord::default()
        };
        busy.outcomes.add_many(Outcome::Ok, 3);
        busy.outcomes.add_many(Outcome::Timeout, 1);
        busy.response.record(100, 3);
        let rows = entries(&[busy, WorkerRecord::default()]);
        assert_eq!(
            rows[0],
            json!({
                "name": "load-1", "region": "near", "offered": 4, "completed": 4, "failed": 1, "p50": 100, "p95": 100, "p99": 100,
                "lag_p99": null, "lost_at": 9,
            })
        );
        assert!(rows[1]["p50"].is_null() && rows[1]["lost_at"].is_null());
    }
}
