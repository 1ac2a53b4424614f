//! The objects of steps, journeys, groups, thresholds and users.

use plimsoll_analysis::summary::breakdown::{Breakdown, Measured, ScopeMetrics, ThresholdResult};
use plimsoll_analysis::summary::given_up::GivenUpSummary;
use plimsoll_analysis::summary::users::Little;
use schemars::JsonSchema;
use serde::Serialize;

use super::{OutcomesObject, TimesObject};
use crate::number::millis;

/// Numbers of one step, journey, group, or row of URLs. Times are response times of good responses, ms; null without any.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Part")]
pub struct AggregateObject {
    /// Requests that ended; for a group, complete passes.
    pub samples: u64,
    /// Arithmetic mean.
    pub average: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 75th percentile.
    pub p75: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Share of the samples that failed, 0 to 1.
    pub error_share: f64,
    /// Complete responses per second, good or not.
    pub throughput: f64,
    /// Bytes of responses, heads included.
    pub bytes: u64,
    /// Samples by outcome.
    pub outcomes: OutcomesObject,
}

/// Steps of one label in one journey.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Step")]
pub struct StepObject {
    /// As the plan has it: `POST /login` unless it gives a name.
    pub label: String,
    /// Name of the journey.
    pub journey: String,
    /// Whether each user runs it once, before the measured loop. Such a step is excluded from all other numbers, and is
    /// counted over the whole run, warm-up included.
    pub once: bool,
    /// The numbers.
    #[serde(flatten)]
    pub aggregate: AggregateObject,
}

/// One kind of user. Steps of `once` are left out.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Journey")]
pub struct JourneyObject {
    /// As the plan has it.
    pub name: String,
    /// Iterations that ended, failed ones included; null in reports of older run files with several journeys.
    pub iterations: Option<u64>,
    /// The numbers.
    #[serde(flatten)]
    pub aggregate: AggregateObject,
}

/// A group of steps: the time from its first to its last, without thinking.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Group")]
pub struct GroupObject {
    /// As the plan has it.
    pub name: String,
    /// Name of the journey.
    pub journey: String,
    /// The numbers.
    #[serde(flatten)]
    pub aggregate: AggregateObject,
}

/// One bound of a threshold.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Threshold")]
pub struct ThresholdObject {
    /// Its scope: `everything`, `journey NAME`, `step LABEL` or `group NAME`.
    pub scope: String,
    /// The bound: `p95 < 800ms`, `errors < 1%`.
    pub objective: String,
    /// The measured value, in ms for a time and as a share of 1 for errors; null when the quantile falls on a failure
    /// or without data.
    pub measured: Option<f64>,
    /// Unit of `measured`: `ms` or `1`.
    pub unit: String,
    /// Number of requests judged.
    pub samples: u64,
    /// Whether it holds; null without data.
    pub met: Option<bool>,
}

/// The external script of one journey, over the judged seconds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Process")]
pub struct ProcessObject {
    /// Name of the journey.
    pub journey: String,
    /// Executable and arguments.
    pub command: String,
    /// Its steps: requests, pauses and ends of iterations.
    pub steps: u64,
    /// CPU time of the processes for each step, µs; null without steps.
    pub cpu_us_per_step: Option<f64>,
    /// Time that users waited for it at each step, ms; excluded from all response times.
    pub wait_ms: TimesObject,
    /// Invalid or late replies, and lost processes, over the whole run.
    pub faults: u64,
}

/// The users of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Users")]
pub struct UsersObject {
    /// Most at once.
    pub max: u64,
    /// On average over the judged seconds.
    pub mean: f64,
    /// Users that left for good because a `once` step failed, no unique row was left or they gave up, over the whole run.
    pub lost: u64,
    /// Of these, users that gave up waiting (`gives_up`).
    pub gave_up: u64,
    /// The same by step, most users first; empty without any.
    pub gave_up_at: Vec<GaveUpObject>,
    /// Iterations that ended in the judged seconds, failed ones included.
    pub iterations: u64,
    /// Users and requests by Little's law; null for a search, and without requests.
    pub little: Option<LittleObject>,
}

/// Users that gave up at the steps of one label in one journey.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "GaveUp")]
pub struct GaveUpObject {
    /// As the plan has it.
    pub label: String,
    /// Name of the journey.
    pub journey: String,
    /// Whether each user runs the step once, before the measured loop.
    pub once: bool,
    /// Number of users.
    pub users: u64,
    /// How long they had waited, ms.
    pub waited_ms: TimesObject,
}

/// Little's law from measured values: users = throughput × (response + think).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Little")]
pub struct LittleObject {
    /// Users on average.
    pub users: f64,
    /// Requests and pages per second, resources of pages excluded.
    pub throughput: f64,
    /// Their mean response time, failed ones included, ms.
    pub response_ms: f64,
    /// The rest of a user's time for each of them, ms: mostly think time.
    pub think_ms: f64,
    /// Requests in flight as counted over throughput × response: 1 when the counts agree; null where users send
    /// several requests at once.
    pub ratio: Option<f64>,
}

impl AggregateObject {
    pub(super) fn of(summary: &ScopeMetrics) -> Self {
        let times = summary.response_us;
        Self {
            samples: summary.samples,
            average: times.map(|us| us.mean / 1e3),
            p50: times.map(|us| millis(us.p50)),
            p75: times.map(|us| millis(us.p75)),
            p90: times.map(|us| millis(us.p90)),
            p95: times.map(|us| millis(us.p95)),
            p99: times.map(|us| millis(us.p99)),
            error_share: summary.error_share(),
            throughput: summary.throughput,
            bytes: summary.bytes,
            outcomes: OutcomesObject::of(&summary.outcomes),
        }
    }
}

impl StepObject {
    pub(super) fn all(breakdown: &Breakdown) -> Vec<Self> {
        let steps = breakdown.steps.iter().map(|step| Self {
            label: step.label.clone(),
            journey: step.journey.clone(),
            once: step.once,
            aggregate: AggregateObject::of(&step.metrics),
        });
        steps.collect()
    }
}

impl JourneyObject {
    pub(super) fn all(breakdown: &Breakdown) -> Vec<Self> {
        let journeys = breakdown.journeys.iter().map(|journey| Self {
            name: journey.name.clone(),
            iterations: journey.iterations,
            aggregate: AggregateObject::of(&journey.metrics),
        });
        journeys.collect()
    }
}

impl GroupObject {
    pub(super) fn all(breakdown: &Breakdown) -> Vec<Self> {
        let groups = breakdown.groups.iter().map(|group| Self {
            name: group.name.clone(),
            journey: group.journey.clone(),
            aggregate: AggregateObject::of(&group.metrics),
        });
        groups.collect()
    }
}

impl ThresholdObject {
    pub(super) fn all(breakdown: &Breakdown) -> Vec<Self> {
        let thresholds = breakdown.thresholds.iter();
        thresholds.flat_map(Self::of).collect()
    }

    fn of(threshold: &ThresholdResult) -> Vec<Self> {
        let bounds = threshold.bounds().into_iter().map(|bound| {
            let (measured, unit) = match bound.measured {
                Measured::TimeUs(us) => (us.map(millis), "ms"),
                Measured::MeanUs(us) => (us.map(|us| us / 1e3), "ms"),
                Measured::Share(share) | Measured::Reach(share) => (share, "1"),
            };
            Self {
                scope: threshold.scope.clone(),
                objective: bound.bound.to_string(),
                measured,
                unit: unit.to_owned(),
                samples: threshold.samples,
                met: bound.met,
            }
        });
        bounds.collect()
    }
}

impl ProcessObject {
    pub(super) fn all(breakdown: &Breakdown) -> Vec<Self> {
        let processes = breakdown.processes.iter().map(|process| Self {
            journey: process.journey.clone(),
            command: process.command.clone(),
            steps: process.steps,
            cpu_us_per_step: process.cpu_us_per_step,
            wait_ms: TimesObject::of(process.wait_us),
            faults: process.errors,
        });
        processes.collect()
    }
}

impl UsersObject {
    /// `None` without users.
    pub(super) fn of(breakdown: &Breakdown) -> Option<Self> {
        let users = breakdown.users?;
        let rows = breakdown.given_up.iter();
        Some(Self {
            max: users.max,
            mean: users.mean,
            lost: users.lost,
            gave_up: breakdown.users_given_up(),
            gave_up_at: rows.map(GaveUpObject::of).collect(),
            iterations: users.iterations,
            little: users.little.as_ref().map(LittleObject::of),
        })
    }
}

impl GaveUpObject {
    fn of(row: &GivenUpSummary) -> Self {
        Self {
            label: row.label.clone(),
            journey: row.journey.clone(),
            once: row.once,
            users: row.users,
            waited_ms: TimesObject::of(Some(row.waited_us)),
        }
    }
}

impl LittleObject {
    fn of(little: &Little) -> Self {
        Self {
            users: little.users,
            throughput: little.throughput,
            response_ms: little.response_us / 1e3,
            think_ms: little.think_us / 1e3,
            ratio: little.ratio,
        }
    }
}
