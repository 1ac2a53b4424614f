//! The objects of workers.

use plimsoll_analysis::regions::{self, RegionSummary};
use plimsoll_analysis::summary;
use plimsoll_model::run::Run;
use plimsoll_model::worker::WorkerRecord;
use schemars::JsonSchema;
use serde::Serialize;

use super::{OutcomesObject, TimesObject};
use crate::number::millis;

/// A host that carried a part of the load. Counts and times are of its whole part, with warm-up and drain: of a search, of all
/// its trials but self-tests.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Worker")]
pub struct WorkerObject {
    /// Its name.
    pub name: String,
    /// The region that it was labelled with; null without one.
    pub region: Option<String>,
    /// Arrivals that were due.
    pub offered: u64,
    /// Requests that ended.
    pub requests: u64,
    /// Response time of good responses, from the moment a request was due, ms.
    pub response_time_ms: TimesObject,
    /// 99th percentile of its generator's lag in the judged seconds, ms; null for closed load.
    pub lag_ms_p99: Option<f64>,
    /// Its time of day less that of this machine, ms.
    pub clock_offset_ms: f64,
    /// By how much its start may have been off, ms.
    pub clock_error_ms: f64,
    /// The first second of run time of which its results are missing because it was lost; null for one that stayed.
    pub lost_at: Option<u32>,
}

impl WorkerObject {
    pub(super) fn all(run: &Run) -> Vec<Self> {
        run.workers.iter().map(Self::of).collect()
    }

    fn of(worker: &WorkerRecord) -> Self {
        Self {
            name: worker.name.clone(),
            region: worker.region.clone(),
            offered: worker.offered,
            requests: worker.requests(),
            response_time_ms: TimesObject::of(summary::percentiles(&worker.response)),
            lag_ms_p99: worker.judged.lag.quantile(0.99).map(millis),
            clock_offset_ms: worker.clock_offset_us as f64 / 1e3,
            clock_error_ms: worker.clock_error_us as f64 / 1e3,
            lost_at: worker.lost_at,
        }
    }
}

/// What the workers of a region did together. Counts and times are of their whole parts, with warm-up and drain.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Region")]
pub struct RegionObject {
    /// The region; null for workers without one.
    pub region: Option<String>,
    /// Its workers.
    pub workers: u32,
    /// Requests that ended.
    pub requests: u64,
    /// Its part of the requests of all regions, 0 to 1; null without any.
    pub share: Option<f64>,
    /// Requests by outcome: what was lost, and what did not reach the target.
    pub outcomes: OutcomesObject,
    /// Response time of all its good responses, from the moment a request was due, ms.
    pub response_time_ms: TimesObject,
}

impl RegionObject {
    pub(super) fn all(run: &Run) -> Vec<Self> {
        let regions = regions::of(&run.workers);
        let all: u64 = regions.iter().map(|region| region.outcomes.total()).sum();
        regions
            .into_iter()
            .map(|region| Self::of(region, all))
            .collect()
    }

    fn of(region: RegionSummary, all: u64) -> Self {
        let requests = region.outcomes.total();
        Self {
            region: region.region,
            workers: region.workers,
            requests,
            share: (all > 0).then(|| requests as f64 / all as f64),
            outcomes: OutcomesObject::of(&region.outcomes),
            response_time_ms: TimesObject::of(region.response_us),
        }
    }
}
