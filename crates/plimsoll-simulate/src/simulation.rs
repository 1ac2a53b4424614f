//! Runs a world: warm it up, count, and stop when the means are known well enough.

use std::time::Duration;

use plimsoll_config::world::World;
use plimsoll_model::seed::Seed;

use crate::compiled::CompiledWorld;
use crate::engine::{Engine, Progress};
use crate::error::SimulateError;
use crate::forecast::Forecast;
use crate::result::{Ending, MeanInterval, Simulated, SimulatedRegion, SimulatedTier, TimesMs};
use crate::time_histogram::TimeHistogram;

/// Half of the interval of each mean at which a simulation ends, as a share of the mean: ±0.5 %.
pub const PRECISION: f64 = 0.005;
/// Most events of a simulation without a given time.
pub const EVENTS_MAX: u64 = 1_000_000_000;
/// Most events of a simulation with a given time: hours of a core.
const TIMED_EVENTS_MAX: u64 = 50_000_000_000;
/// Requests of clients that a simulation begins with and does not count.
const WARMUP_REQUESTS: u64 = 20_000;
/// A given time is divided by this for its beginning that is not counted: a twentieth.
const WARMUP_PART: u64 = 20;
/// Events before the first look at the means.
const FIRST_LOOK_EVENTS: u64 = 100_000;
/// From one look to the next, the number of events grows by a tenth: many looks would end at the first lucky one.
const LOOKS_SHARE: u64 = 10;
/// Longest time of a world: ten years. Its nanoseconds fit twice.
const TIME_NS_MAX: u64 = 315_360_000_000_000_000;

/// How a world is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimulationOptions {
    /// Seed of all randomness.
    pub seed: Seed,
    /// Time of the world; `None` until the means are known well enough.
    pub lasting: Option<Duration>,
    /// Half of the interval of each mean at which a simulation without a time ends, as a share of the mean.
    pub precision: f64,
    /// Most events of a simulation without a time.
    pub events_max: u64,
}

impl SimulationOptions {
    /// Until each mean is known to ±0.5 %.
    pub fn new(seed: Seed) -> Self {
        Self {
            seed,
            lasting: None,
            precision: PRECISION,
            events_max: EVENTS_MAX,
        }
    }
}

/// Simulates a world.
///
/// # Errors
/// When two regions have no round trip; and, without a time, when a tier gets more than it carries and nothing refuses the
/// rest.
pub fn simulate(world: &World, options: SimulationOptions) -> Result<Simulated, SimulateError> {
    let forecast = Forecast::of(world)?;
    if options.lasting.is_none() {
        forecast.check(world)?;
    }
    let mut engine = Engine::new(CompiledWorld::of(world)?, options.seed);
    let ending = match options.lasting {
        Some(lasting) => run_for(&mut engine, lasting),
        None => run_until_precise(&mut engine, &options),
    };
    Ok(collect(world, &mut engine, ending))
}

fn run_for(engine: &mut Engine, lasting: Duration) -> Ending {
    let whole_ns = u64::try_from(lasting.as_nanos()).map_or(TIME_NS_MAX, |ns| ns.min(TIME_NS_MAX));
    match engine.run(TIMED_EVENTS_MAX, whole_ns / WARMUP_PART) {
        Progress::Full => return Ending::Backlog,
        Progress::Events => return Ending::EventsOver,
        Progress::Time => {}
    }
    engine.reset_counts();
    match engine.run(TIMED_EVENTS_MAX, whole_ns) {
        Progress::Full => Ending::Backlog,
        Progress::Events => Ending::EventsOver,
        Progress::Time => Ending::TimeOver,
    }
}

fn run_until_precise(engine: &mut Engine, options: &SimulationOptions) -> Ending {
    if let Some(ending) = warm_up(engine, options.events_max) {
        return ending;
    }
    let mut events = FIRST_LOOK_EVENTS;
    loop {
        match engine.run(events, TIME_NS_MAX) {
            Progress::Full => return Ending::Backlog,
            Progress::Time => return Ending::TimeOver,
            Progress::Events => {}
        }
        if precision(engine).is_some_and(|found| found <= options.precision) {
            return Ending::Precise;
        }
        if engine.events() >= options.events_max {
            return Ending::EventsOver;
        }
        events = (engine.events() / LOOKS_SHARE).max(FIRST_LOOK_EVENTS);
    }
}

/// Lets the first requests pass; the ending where there is one already.
pub(crate) fn warm_up(engine: &mut Engine, events_max: u64) -> Option<Ending> {
    while engine.clients().requests() < WARMUP_REQUESTS && engine.events() < events_max / 2 {
        match engine.run(FIRST_LOOK_EVENTS / 10, TIME_NS_MAX) {
            Progress::Full => return Some(Ending::Backlog),
            Progress::Time => return Some(Ending::TimeOver),
            Progress::Events => {}
        }
    }
    engine.reset_counts();
    None
}

/// The widest interval of all means, as a share of its mean: of clients, of their groups, and of each tier. `None` when one has
/// too few values; what nobody uses does not count.
fn precision(engine: &mut Engine) -> Option<f64> {
    let clients = engine.clients();
    let mut widest = clients.response_means.interval()?.relative();
    for group in &clients.groups {
        if group.response.count() > 0 {
            widest = widest.max(group.response_means.interval()?.relative());
        }
    }
    for tier in engine.tier_counts() {
        if tier.response.count() > 0 {
            widest = widest.max(tier.response_means.interval()?.relative());
        }
    }
    Some(widest)
}

/// Plain data of what was counted.
pub(crate) fn collect(world: &World, engine: &mut Engine, ending: Ending) -> Simulated {
    let counted_from_ns = engine.counted_from_ns();
    let measured_ns = engine.now_ns().saturating_sub(counted_from_ns);
    let seconds = measured_ns as f64 / 1e9;
    let per_second = |count: u64| {
        if measured_ns == 0 {
            0.0
        } else {
            count as f64 / seconds
        }
    };
    let precision = precision(engine);
    // What has a backlog without end gets worse from here on.
    let objective_holds = if ending == Ending::Backlog {
        Some(false)
    } else {
        objective_holds(world, engine)
    };
    let tiers = tiers(world, engine, measured_ns, &per_second);
    let counts = engine.clients();
    let regions = world.load.groups.iter().zip(&counts.groups);
    let regions = regions.map(|(group, counts)| SimulatedRegion {
        name: group.region.clone(),
        response_ms: times_ms(&counts.response, counts.response_means.interval()),
        failed: counts.failed,
    });
    Simulated {
        measured_s: seconds,
        warmup_s: counted_from_ns as f64 / 1e9,
        events: engine.events(),
        ending,
        precision,
        response_ms: times_ms(&counts.response, counts.response_means.interval()),
        requests: counts.requests(),
        failed: counts.failed,
        given_up: counts.given_up,
        attempts_per_s: per_second(counts.attempts),
        objective_holds,
        tiers,
        regions: regions.collect(),
    }
}

/// Whether the objective holds over all that was counted; `None` without requests.
pub(crate) fn objective_holds(world: &World, engine: &Engine) -> Option<bool> {
    let counts = engine.clients();
    let total = counts.requests();
    if total == 0 {
        return None;
    }
    let errors_max = world.objective.errors_max.unwrap_or(1.0);
    let errors_hold = counts.failed as f64 <= errors_max * total as f64;
    let mut bounds = counts.bounds.iter();
    let bounds_hold = bounds.all(|of| of.bad as f64 <= of.bound.bad_allowed(total as f64));
    Some(errors_hold && bounds_hold)
}

fn tiers(
    world: &World,
    engine: &mut Engine,
    measured_ns: u64,
    per_second: &dyn Fn(u64) -> f64,
) -> Vec<SimulatedTier> {
    let whole_ns = measured_ns.max(1) as f64;
    let mean = |sum_ns: u128| sum_ns as f64 / whole_ns;
    let tiers = world.tiers.iter().zip(engine.tier_counts());
    let tiers = tiers.map(|(tier, counts)| {
        let servers = f64::from(tier.servers_total());
        let serving = mean(counts.serving_ns) / servers;
        let slots = mean(counts.slots_ns);
        let threads = tier.threads_total().map(f64::from);
        SimulatedTier {
            name: tier.name.clone(),
            rate: per_second(counts.arrived),
            response_ms: times_ms(&counts.response, counts.response_means.interval()),
            wait_ms: times_ms(&counts.wait, counts.wait_means.interval()),
            busy: if threads.is_some() {
                serving
            } else {
                slots / servers
            },
            serving,
            threads_busy: threads.map(|threads| slots / threads),
            waiting: mean(counts.waiting_ns),
            refused: counts.refused,
            timed_out: counts.timed_out,
            call_failed: counts.call_failed,
        }
    });
    tiers.collect()
}

fn times_ms(times: &TimeHistogram, mean: Option<MeanInterval>) -> Option<TimesMs> {
    let ms = |ns: f64| ns / 1e6;
    let quantile = |share| times.quantile_ns(share).map(ms);
    let ends = mean.map(|of| (ms(of.mean - of.half).max(0.0), ms(of.mean + of.half)));
    Some(TimesMs {
        count: times.count(),
        mean: ms(times.mean_ns()?),
        mean_interval: ends,
        p50: quantile(0.5)?,
        p95: quantile(0.95)?,
        p99: quantile(0.99)?,
    })
}
