//! The object of `simulate --json`, with its published schema.

use std::collections::BTreeMap;

use plimsoll_config::world::World;
use plimsoll_report::pretty;
use plimsoll_simulate::{
    Ending, FirstLimit, LimitKind, LoadLine, SimulatedRegion, SimulatedTier, TimesMs,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{ExaminedChange, ExaminedWorld};

/// Version of [`SimulationObject`]. A field may be added (raise the minor number).
const FORMAT_VERSION: &str = "1.0";

/// The output of `plimsoll simulate --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "plimsoll simulate --json")]
pub(super) struct SimulationObject {
    /// Version of this object, `major.minor`.
    format_version: &'static str,
    /// File of the world.
    world: String,
    /// Seed of all randomness.
    seed: u64,
    /// The objective.
    objective: String,
    /// Source and date of the round trips between regions; null where no tier and no client has a region.
    round_trips_of: Option<String>,
    /// The world as it is in the file.
    #[serde(flatten)]
    result: WorldObject,
    /// Changes in the order of the command line.
    what_if: Vec<WhatIfObject>,
}

/// A change of the world.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WhatIf")]
struct WhatIfObject {
    /// As it was written.
    text: String,
    /// What it changes, with the numbers before and after.
    change: String,
    /// Why the changed world cannot be simulated; null when it was.
    refused: Option<String>,
    /// The changed world; null when it cannot be simulated.
    after: Option<WorldObject>,
}

/// What is known of a world.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "World")]
struct WorldObject {
    /// Time of the world that was measured, s.
    measured_s: f64,
    /// Time of the world before it, s.
    warmup_s: f64,
    /// Events.
    events: u64,
    /// Why it ended: `precise`, `time_over`, `events_over`, or `backlog` when millions of requests waited.
    ending: &'static str,
    /// Widest interval of all means, as a share of its mean: 0.005 for ±0.5 %; null with too few answers.
    precision: Option<f64>,
    /// Good answers of all clients, from the first attempt; null without any.
    response_ms: Option<TimesObject>,
    /// Requests of clients that ended.
    requests: u64,
    /// Of them failed for good.
    failed: u64,
    /// Attempts that clients gave up.
    given_up: u64,
    /// Attempts of clients per second.
    attempts_per_s: f64,
    /// Whether the objective holds; null when no request ended.
    objective_met: Option<bool>,
    /// Each tier by its name.
    tiers: BTreeMap<String, TierObject>,
    /// Clients of each region by its name; empty where clients have no region.
    regions: BTreeMap<String, RegionObject>,
    /// The largest load at which the objective holds.
    line: LineObject,
    /// What limits the load; null when nothing does.
    first_limit: Option<LimitObject>,
    /// What a request costs by arithmetic, and how much fits.
    forecast: ForecastObject,
}

/// Times in ms.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Times")]
struct TimesObject {
    /// Number of times.
    count: u64,
    /// The mean.
    mean: f64,
    /// Lower end of its interval of 95 %; null with too few times.
    mean_low: Option<f64>,
    /// Upper end of its interval of 95 %; null with too few times.
    mean_high: Option<f64>,
    /// Median.
    p50: f64,
    /// 95th percentile.
    p95: f64,
    /// 99th percentile.
    p99: f64,
}

/// What a tier did.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Tier")]
struct TierObject {
    /// Requests that reached it, per second.
    rate: f64,
    /// From the arrival of a request to its answer, its calls included; null without answers.
    response_ms: Option<TimesObject>,
    /// From the arrival of a request to the begin of its service; null when none began.
    wait_ms: Option<TimesObject>,
    /// Share of its servers that are taken, 0 to 1: by service, or by a blocking call without threads.
    busy: f64,
    /// Share of its servers that serve, 0 to 1.
    serving: f64,
    /// Share of its threads that are taken, 0 to 1; null without threads.
    threads_busy: Option<f64>,
    /// Requests that wait, on average.
    waiting: f64,
    /// Requests that were refused because the queue was full.
    refused: u64,
    /// Requests that waited too long.
    timed_out: u64,
    /// Requests that failed because a call failed.
    call_failed: u64,
}

/// What clients of a region got.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Region")]
struct RegionObject {
    /// Good answers, from the first attempt; null without any.
    response_ms: Option<TimesObject>,
    /// Requests that failed for good.
    failed: u64,
}

/// A load line.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Line")]
struct LineObject {
    /// The largest load at which the objective holds; null when there is none.
    load: Option<f64>,
    /// The smallest load at which it was found not to hold; null when it holds at all that were tried.
    broken_at: Option<f64>,
    /// Unit of both: `requests_per_s` or `users`.
    unit: &'static str,
}

/// What limits a load.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Limit")]
struct LimitObject {
    /// The tier; null where services and ways alone take too long.
    tier: Option<String>,
    /// What of it: `servers`, `blocked_servers`, `threads` or `time`.
    kind: &'static str,
    /// How much of it is taken at the first load that fails, 0 to 1.
    busy: f64,
}

/// Arithmetic of a world.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Forecast")]
struct ForecastObject {
    /// Response time when nobody waits, by means, ms.
    response_ms: f64,
    /// Requests of clients that the world carries at most, per second; null when no tier takes time.
    rate_max: Option<f64>,
    /// The tier that sets it.
    limit: Option<String>,
}

impl SimulationObject {
    pub(super) fn new(
        (file, seed): (&str, u64),
        world: &World,
        before: &ExaminedWorld,
        changes: &[ExaminedChange],
    ) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            world: file.to_owned(),
            seed,
            objective: world.objective.to_string(),
            round_trips_of: round_trips_of(world),
            result: WorldObject::new(before),
            what_if: changes.iter().map(WhatIfObject::new).collect(),
        }
    }
}

fn round_trips_of(world: &World) -> Option<String> {
    let has_region = world.tiers.iter().any(|tier| tier.region.is_some());
    let table = world.distances.table();
    has_region.then(|| match (table.source(), table.date()) {
        ("", "") => "a table without source and date".to_owned(),
        (source, "") => source.to_owned(),
        (source, date) => format!("{source}, {date}"),
    })
}

impl WhatIfObject {
    fn new(change: &ExaminedChange) -> Self {
        Self {
            text: change.what_if.text().to_owned(),
            change: change.change.clone(),
            refused: change.after.as_ref().err().map(ToString::to_string),
            after: change.after.as_ref().ok().map(WorldObject::new),
        }
    }
}

impl WorldObject {
    fn new(examined: &ExaminedWorld) -> Self {
        let simulated = &examined.simulated;
        let tiers = simulated.tiers.iter();
        let regions = simulated.regions.iter();
        let forecast = &examined.forecast;
        let named = |index: usize| simulated.tiers[index].name.clone();
        Self {
            measured_s: simulated.measured_s,
            warmup_s: simulated.warmup_s,
            events: simulated.events,
            ending: match simulated.ending {
                Ending::Precise => "precise",
                Ending::TimeOver => "time_over",
                Ending::EventsOver => "events_over",
                Ending::Backlog => "backlog",
            },
            precision: simulated.precision.filter(|share| share.is_finite()),
            response_ms: simulated.response_ms.as_ref().map(TimesObject::new),
            requests: simulated.requests,
            failed: simulated.failed,
            given_up: simulated.given_up,
            attempts_per_s: simulated.attempts_per_s,
            objective_met: simulated.objective_holds,
            tiers: tiers
                .map(|tier| (tier.name.clone(), TierObject::new(tier)))
                .collect(),
            regions: regions
                .filter_map(|region| Some((region.name.clone()?, RegionObject::new(region))))
                .collect(),
            line: LineObject::new(&examined.line),
            first_limit: examined.line.first_limit.as_ref().map(LimitObject::new),
            forecast: ForecastObject {
                response_ms: forecast.response_s * 1e3,
                rate_max: Some(forecast.rate_max).filter(|rate| rate.is_finite()),
                limit: forecast.limit.map(named),
            },
        }
    }
}

impl TimesObject {
    fn new(times: &TimesMs) -> Self {
        Self {
            count: times.count,
            mean: times.mean,
            mean_low: times.mean_interval.map(|(low, _)| low),
            mean_high: times.mean_interval.map(|(_, high)| high),
            p50: times.p50,
            p95: times.p95,
            p99: times.p99,
        }
    }
}

impl TierObject {
    fn new(tier: &SimulatedTier) -> Self {
        Self {
            rate: tier.rate,
            response_ms: tier.response_ms.as_ref().map(TimesObject::new),
            wait_ms: tier.wait_ms.as_ref().map(TimesObject::new),
            busy: tier.busy,
            serving: tier.serving,
            threads_busy: tier.threads_busy,
            waiting: tier.waiting,
            refused: tier.refused,
            timed_out: tier.timed_out,
            call_failed: tier.call_failed,
        }
    }
}

impl RegionObject {
    fn new(region: &SimulatedRegion) -> Self {
        Self {
            response_ms: region.response_ms.as_ref().map(TimesObject::new),
            failed: region.failed,
        }
    }
}

impl LineObject {
    fn new(line: &LoadLine) -> Self {
        Self {
            load: line.load,
            broken_at: line.broken_at,
            unit: if line.is_users {
                "users"
            } else {
                "requests_per_s"
            },
        }
    }
}

impl LimitObject {
    fn new(limit: &FirstLimit) -> Self {
        Self {
            tier: limit.tier.clone(),
            kind: match limit.kind {
                LimitKind::Servers => "servers",
                LimitKind::BlockedServers => "blocked_servers",
                LimitKind::Threads => "threads",
                LimitKind::Time => "time",
            },
            busy: limit.busy,
        }
    }
}

/// The schema of `--json`.
pub(crate) fn schema() -> String {
    pretty::schema::<SimulationObject>()
}
