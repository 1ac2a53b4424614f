//! The largest load of a world at which its objective holds, and what limits it there.

use plimsoll_config::world::{USERS_MAX, World, WorldDemand};
use plimsoll_model::seed::Seed;

use crate::compiled::CompiledWorld;
use crate::engine::{Engine, Progress};
use crate::error::SimulateError;
use crate::forecast::Forecast;
use crate::result::{Ending, MeanInterval, Simulated};
use crate::simulation::{collect, objective_holds, warm_up};

/// Loads are told apart down to this ratio.
const RATIO: f64 = 1.005;
/// Most events of a load that is hard to judge.
const JUDGE_EVENTS_MAX: u64 = 6_000_000;
/// Events between two looks.
const JUDGE_EVENTS: u64 = 100_000;
/// Highest rate that is tried, requests per second.
const RATE_MAX: f64 = 10_000_000.0;
/// Loads that double, before the bisection; far fewer halve, since what fails at a thousandth of the capacity fails by time alone.
const DOUBLED_MAX: u32 = 40;
const HALVED_MAX: u32 = 10;
/// Longest time of a world while a load is judged, ns: a year.
const TIME_NS_MAX: u64 = 31_536_000_000_000_000;
/// A resource that is taken less than this at the first load that fails is not what limits it.
const BUSY_MIN: f64 = 0.5;

/// The largest load at which the objective holds.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadLine {
    /// The load, requests per second or users; `None` when the objective does not hold at any.
    pub load: Option<f64>,
    /// The smallest load at which it was found not to hold; `None` when it holds at all that were tried.
    pub broken_at: Option<f64>,
    /// Whether loads are users.
    pub is_users: bool,
    /// What limits it; `None` when nothing does.
    pub first_limit: Option<FirstLimit>,
}

/// What limits a load.
#[derive(Clone, Debug, PartialEq)]
pub struct FirstLimit {
    /// The tier; `None` where time alone breaks the objective.
    pub tier: Option<String>,
    /// What of it.
    pub kind: LimitKind,
    /// How much of it is taken at the first load that fails, 0 to 1.
    pub busy: f64,
}

/// What of a tier limits a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// Its servers, by their own work.
    Servers,
    /// Its servers, most of which wait for blocking calls.
    BlockedServers,
    /// Its threads.
    Threads,
    /// Nothing is scarce: services and ways alone take too long.
    Time,
}

/// Searches the largest load at which the objective of the world holds.
///
/// # Errors
/// When two regions have no round trip.
pub fn load_line(world: &World, seed: Seed) -> Result<LoadLine, SimulateError> {
    let forecast = Forecast::of(world)?;
    let mut search = LineSearch::new(world, seed, &forecast);
    search.bracket()?;
    search.bisect()?;
    Ok(search.finish())
}

/// A search that goes on.
struct LineSearch<'w> {
    world: &'w World,
    seed: Seed,
    is_users: bool,
    /// Load of the first try.
    first: f64,
    load_max: f64,
    /// Highest load that holds, and lowest that does not with what happened there.
    low: Option<f64>,
    high: Option<(f64, Simulated)>,
}

impl<'w> LineSearch<'w> {
    fn new(world: &'w World, seed: Seed, forecast: &Forecast) -> Self {
        let (is_users, first, load_max) = match world.load.demand {
            WorldDemand::Rate(rate) if forecast.rate_max.is_finite() => {
                // A rate that is high above the line costs the most to judge.
                (
                    false,
                    forecast.rate_max.min(RATE_MAX) / 2.0,
                    RATE_MAX.max(rate),
                )
            }
            WorldDemand::Rate(rate) => (false, rate, RATE_MAX.max(rate)),
            WorldDemand::Users { count, think } => {
                let alone_s = think.mean_s() + forecast.response_s;
                let knee = (forecast.rate_max * alone_s / 2.0).ceil();
                let first = if knee.is_finite() {
                    knee
                } else {
                    f64::from(count)
                };
                let users_max = f64::from(USERS_MAX);
                (true, first.clamp(1.0, users_max), users_max)
            }
        };
        Self {
            world,
            seed,
            is_users,
            first,
            load_max,
            low: None,
            high: None,
        }
    }

    /// Doubles or halves until there is a load on each side.
    fn bracket(&mut self) -> Result<(), SimulateError> {
        let mut load = self.first;
        let mut halved = 0;
        for _ in 0..DOUBLED_MAX {
            if self.try_load(load)? {
                if self.high.is_some() || load >= self.load_max {
                    return Ok(());
                }
                load = (load * 2.0).min(self.load_max);
            } else {
                let is_least = halved == HALVED_MAX || (self.is_users && load <= 1.0);
                if self.low.is_some() || is_least {
                    return Ok(());
                }
                halved += 1;
                load /= 2.0;
                if self.is_users {
                    load = load.floor().max(1.0);
                }
            }
        }
        Ok(())
    }

    fn bisect(&mut self) -> Result<(), SimulateError> {
        while let (Some(low), Some((high, _))) = (self.low, &self.high) {
            let is_close = high / low <= RATIO || (self.is_users && high - low <= 1.0);
            if is_close {
                break;
            }
            let middle = (low * high).sqrt();
            let middle = if self.is_users {
                middle.round().clamp(low + 1.0, high - 1.0)
            } else {
                middle
            };
            self.try_load(middle)?;
        }
        Ok(())
    }

    /// Whether the objective holds at a load, which becomes an end of the bracket.
    fn try_load(&mut self, load: f64) -> Result<bool, SimulateError> {
        let world = with_load(self.world, load);
        let mut engine = Engine::new(CompiledWorld::of(&world)?, self.seed);
        let (holds, ending) = judge(&world, &mut engine);
        // A queue that grows for ever breaks every objective, also one that a short look does not see broken.
        let is_steady = Forecast::of(&world)?.check(&world).is_ok();
        let holds = holds && is_steady;
        if holds {
            self.low = Some(load);
        } else {
            self.high = Some((load, collect(&world, &mut engine, ending)));
        }
        Ok(holds)
    }

    fn finish(self) -> LoadLine {
        let first_limit = self.high.as_ref().map(|(_, simulated)| {
            // A load that halves for ever fails by time alone.
            if self.low.is_none() {
                return FirstLimit::time();
            }
            FirstLimit::of(self.world, simulated)
        });
        LoadLine {
            load: self.low,
            broken_at: self.high.map(|(load, _)| load),
            is_users: self.is_users,
            first_limit,
        }
    }
}

/// The world with another load.
fn with_load(world: &World, load: f64) -> World {
    let mut world = world.clone();
    match &mut world.load.demand {
        WorldDemand::Rate(rate) => *rate = load,
        WorldDemand::Users { count, .. } => *count = users(load),
    }
    world
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a whole number of users within its maximum"
)]
fn users(load: f64) -> u32 {
    load.clamp(1.0, f64::from(USERS_MAX)) as u32
}

/// Whether the objective holds: until that is clear, or the events are over, and then by what was counted.
fn judge(world: &World, engine: &mut Engine) -> (bool, Ending) {
    if let Some(ending) = warm_up(engine, JUDGE_EVENTS_MAX) {
        return (false, ending);
    }
    loop {
        match engine.run(JUDGE_EVENTS, TIME_NS_MAX) {
            Progress::Full => return (false, Ending::Backlog),
            Progress::Time => return (holds(world, engine), Ending::TimeOver),
            Progress::Events => {}
        }
        if let Some(holds) = clearly_holds(world, engine) {
            return (holds, Ending::Precise);
        }
        if engine.events() >= JUDGE_EVENTS_MAX {
            return (holds(world, engine), Ending::EventsOver);
        }
    }
}

fn holds(world: &World, engine: &Engine) -> bool {
    objective_holds(world, engine).unwrap_or(false)
}

/// Whether every bound holds beyond its interval, or one is broken beyond it; `None` while that is open.
fn clearly_holds(world: &World, engine: &Engine) -> Option<bool> {
    let counts = engine.clients();
    let allowed = |share: f64, means: Option<MeanInterval>| means.map(|of| side(share, of));
    let errors = world.objective.errors_max;
    let errors = errors.map(|max| allowed(max, counts.failed_means.interval()));
    let bounds = counts.bounds.iter().map(|of| {
        let share = of.bound.bad_allowed(1.0);
        allowed(share, of.bad_means.interval())
    });
    let mut holds = Some(true);
    for side in errors.into_iter().chain(bounds) {
        match side.flatten() {
            Some(false) => return Some(false),
            Some(true) => {}
            None => holds = None,
        }
    }
    holds
}

/// On which side of a share a mean lies with its whole interval.
fn side(share: f64, of: MeanInterval) -> Option<bool> {
    if of.mean + of.half <= share {
        Some(true)
    } else if of.mean - of.half > share {
        Some(false)
    } else {
        None
    }
}

impl FirstLimit {
    fn time() -> Self {
        Self {
            tier: None,
            kind: LimitKind::Time,
            busy: 0.0,
        }
    }

    /// The resource that is taken most.
    fn of(world: &World, simulated: &Simulated) -> Self {
        let mut limit = Self::time();
        for (tier, found) in world.tiers.iter().zip(&simulated.tiers) {
            let servers = if found.serving * 2.0 < found.busy {
                LimitKind::BlockedServers
            } else {
                LimitKind::Servers
            };
            let threads = found.threads_busy.map(|busy| (LimitKind::Threads, busy));
            for (kind, busy) in [(servers, found.busy)].into_iter().chain(threads) {
                // Where a blocked server and what it waits for are equally busy, the later one is the cause.
                let is_later = limit.kind == LimitKind::BlockedServers && busy >= limit.busy * 0.98;
                if busy > limit.busy || is_later {
                    limit = Self {
                        tier: Some(tier.name.clone()),
                        kind,
                        busy,
                    };
                }
            }
        }
        if limit.busy < BUSY_MIN {
            return Self {
                busy: limit.busy,
                ..Self::time()
            };
        }
        limit
    }
}
