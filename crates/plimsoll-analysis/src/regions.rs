//! What the workers of each region of a run did together.
//!
//! Counts are added and percentiles are read from merged histograms, as over all workers. They are of whole parts, with
//! warm-up and drain: a worker's record has no other histogram of response times.

use std::collections::BTreeMap;

use plimsoll_model::histogram::Histogram;
use plimsoll_model::outcome::OutcomeCounts;
use plimsoll_model::trial::Percentiles;
use plimsoll_model::worker::WorkerRecord;

/// The workers of one region together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegionSummary {
    /// The region; `None` for workers without a label.
    pub region: Option<String>,
    /// Its workers.
    pub workers: u32,
    /// Requests that ended, by outcome.
    pub outcomes: OutcomeCounts,
    /// Response time of good answers, µs; `None` without any.
    pub response_us: Option<Percentiles>,
}

/// A row for each region by name, and a last one for workers without; empty where no worker has a region.
pub fn of(workers: &[WorkerRecord]) -> Vec<RegionSummary> {
    if workers.iter().all(|worker| worker.region.is_none()) {
        return Vec::new();
    }
    let mut by_region = BTreeMap::<(bool, Option<&str>), Vec<&WorkerRecord>>::new();
    for worker in workers {
        let region = worker.region.as_deref();
        let place = (region.is_none(), region);
        by_region.entry(place).or_default().push(worker);
    }
    let rows = by_region.into_iter();
    rows.map(|((_, region), workers)| together(region, &workers))
        .collect()
}

fn together(region: Option<&str>, workers: &[&WorkerRecord]) -> RegionSummary {
    let mut outcomes = OutcomeCounts::default();
    let mut response = Histogram::new();
    for worker in workers {
        outcomes.merge(&worker.outcomes);
        response.merge(&worker.response);
    }
    RegionSummary {
        region: region.map(str::to_owned),
        workers: u32::try_from(workers.len()).unwrap_or(u32::MAX),
        outcomes,
        response_us: (!response.is_empty()).then(|| Percentiles::of(&response)),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::outcome::Outcome;

    use super::*;

    fn worker(region: Option<&str>, response_us: u64, requests: u64) -> WorkerRecord {
        let mut record = WorkerRecord {
            region: region.map(str::to_owned),
            ..WorkerRecord::default()
        };
        record.outcomes.add_many(Outcome::Ok, requests);
        record.outcomes.add(Outcome::Timeout);
        record.response.record(response_us, requests);
        record
    }

    #[test]
    fn percentiles_of_a_region_are_those_of_all_its_requests() {
        // The mean of the two workers' p95 is 505 ms.
        let workers = [
            worker(Some("near"), 10_000, 870),
            worker(None, 1, 7),
            worker(Some("far"), 50_000, 100),
            worker(Some("near"), 1_000_000, 130),
        ];
        let rows = of(&workers);
        let names: Vec<Option<&str>> = rows.iter().map(|row| row.region.as_deref()).collect();
        assert_eq!(names, [Some("far"), Some("near"), None]);
        let near = &rows[1];
        assert_eq!((near.workers, near.outcomes.total()), (2, 1002));
        assert_eq!(near.outcomes.failed(), 2);
        let mut whole = Histogram::new();
        whole.record(10_000, 870);
        whole.record(1_000_000, 130);
        let response = near.response_us.unwrap();
        assert_eq!(response, Percentiles::of(&whole));
        assert!(response.p50 < 10_020 && response.p95 >= 1_000_000);
    }

    #[test]
    fn without_labels_and_without_answers_nothing_is_made_up() {
        assert!(of(&[]).is_empty());
        assert!(of(&[worker(None, 1, 1)]).is_empty());
        let silent = WorkerRecord {
            region: Some("far".to_owned()),
            ..WorkerRecord::default()
        };
        let rows = of(&[silent]);
        assert_eq!((rows[0].outcomes.total(), rows[0].response_us), (0, None));
    }
}
