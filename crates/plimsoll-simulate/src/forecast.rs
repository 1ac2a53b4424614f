//! Arithmetic of a world, without events: how often each tier is called, how long a request takes alone, and how much fits.

use plimsoll_config::world::{Call, MissingDistance, Tier, World, WorldDemand};
use plimsoll_model::distribution::DurationDistribution;

use crate::error::SimulateError;

/// What is known of a tier without a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct TierForecast {
    /// Requests that reach it for a request of a client, on average.
    pub visits: f64,
    /// Time of its service, on average, s.
    pub service_s: f64,
    /// From the arrival of a request to its answer when nobody waits, s; by means.
    pub response_s: f64,
    /// Time that a request keeps a server, s: its service, and without threads its blocking calls.
    pub held_s: f64,
    /// Requests per second that it carries at most.
    pub capacity: f64,
    /// Time that its blocking calls spend on the way, s, for a request.
    pub way_s: f64,
    /// Blocking calls of a request, on average, that go to where they have a way.
    pub far_calls: f64,
    /// Whether requests are refused, or leave the queue, instead of waiting for ever: here or before.
    is_bounded: bool,
}

/// What is known of a world without a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// Tiers in the order of the world.
    pub tiers: Vec<TierForecast>,
    /// Time of a client's request when nobody waits, s; by means.
    pub response_s: f64,
    /// Requests per second of clients that the world carries at most; infinite when no tier takes time.
    pub rate_max: f64,
    /// The tier that sets it.
    pub limit: Option<usize>,
}

impl Forecast {
    /// The arithmetic of a world.
    ///
    /// # Errors
    /// When a call has no distance.
    pub fn of(world: &World) -> Result<Self, MissingDistance> {
        let order = callees_first(world);
        let mut tiers = vec![TierForecast::nothing(); world.tiers.len()];
        for index in &order {
            tiers[*index] = TierForecast::of(world, &world.tiers[*index], &tiers)?;
        }
        let mut response_s = 0.0;
        for group in &world.load.groups {
            let way = world
                .distances
                .of_clients(group.region.as_deref(), &world.tiers[group.to])?;
            response_s += group.share * (way.mean_s() + tiers[group.to].response_s);
            tiers[group.to].visits += group.share;
        }
        count_visits(world, &order, &mut tiers);
        let rates = tiers
            .iter()
            .enumerate()
            .filter(|(_, tier)| tier.visits > 0.0);
        let limit = rates
            .map(|(index, tier)| (index, tier.capacity / tier.visits))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .filter(|(_, rate)| rate.is_finite());
        Ok(Self {
            tiers,
            response_s,
            rate_max: limit.map_or(f64::INFINITY, |(_, rate)| rate),
            limit: limit.map(|(index, _)| index),
        })
    }

    /// Refuses a world whose queues would grow for ever.
    pub(crate) fn check(&self, world: &World) -> Result<(), SimulateError> {
        let WorldDemand::Rate(rate) = world.load.demand else {
            return Ok(());
        };
        for (tier, forecast) in world.tiers.iter().zip(&self.tiers) {
            let demand = rate * forecast.visits;
            if demand >= forecast.capacity && !forecast.is_bounded {
                return Err(SimulateError::TooMuchDemand {
                    tier: tier.name.clone(),
                    demand,
                    capacity: forecast.capacity,
                    rate_max: self.rate_max,
                });
            }
        }
        Ok(())
    }
}

impl TierForecast {
    fn nothing() -> Self {
        Self {
            visits: 0.0,
            service_s: 0.0,
            response_s: 0.0,
            held_s: 0.0,
            capacity: f64::INFINITY,
            way_s: 0.0,
            far_calls: 0.0,
            is_bounded: false,
        }
    }

    /// A tier whose callees are known.
    fn of(world: &World, tier: &Tier, known: &[Self]) -> Result<Self, MissingDistance> {
        let hit = tier.hit_share();
        let service_s = tier.service.mean_s();
        let hit_service = tier.cache.as_ref().and_then(|cache| cache.service.as_ref());
        let hit_service_s = hit_service.map_or(service_s, DurationDistribution::mean_s);
        let mut of_tier = Self {
            service_s: hit.mul_add(hit_service_s, (1.0 - hit) * service_s),
            ..Self::nothing()
        };
        let (mut calls_s, mut blocking_s, mut is_held) = (0.0, 0.0, true);
        for call in &tier.calls {
            is_held &= call.blocking;
            let step = StepTimes::of(world, tier, call, known)?;
            calls_s += step.answer_s;
            if is_held {
                blocking_s += step.answer_s;
                of_tier.way_s += (1.0 - hit) * step.way_s;
                of_tier.far_calls += (1.0 - hit) * step.far_calls;
            }
        }
        of_tier.response_s = (1.0 - hit).mul_add(calls_s, of_tier.service_s);
        let kept_s = (1.0 - hit).mul_add(blocking_s, of_tier.service_s);
        let servers = f64::from(tier.servers_total());
        if let Some(threads) = tier.threads_total() {
            of_tier.held_s = of_tier.service_s;
            let by_threads = f64::from(threads) / kept_s;
            of_tier.capacity = by_threads.min(servers / of_tier.service_s);
        } else {
            of_tier.held_s = kept_s;
            of_tier.capacity = servers / kept_s;
        }
        Ok(of_tier)
    }
}

/// Times of an entry of `calls`, by means.
struct StepTimes {
    /// Until all of its answers are there, s.
    answer_s: f64,
    /// Of it on the way, s.
    way_s: f64,
    /// Calls that have a way.
    far_calls: f64,
}

impl StepTimes {
    fn of(
        world: &World,
        tier: &Tier,
        call: &Call,
        known: &[TierForecast],
    ) -> Result<Self, MissingDistance> {
        let (mut answer_sum_s, mut way_sum_s, mut far) = (0.0_f64, 0.0_f64, 0.0);
        let mut longest = (0.0_f64, 0.0);
        for to in &call.to {
            let way_s = world.distances.of_call(tier, &world.tiers[*to])?.mean_s();
            let answer_s = way_s + known[*to].response_s;
            answer_sum_s += answer_s;
            way_sum_s += way_s;
            far += f64::from(u8::from(way_s > 0.0));
            if answer_s > longest.0 {
                longest = (answer_s, way_s);
            }
        }
        let times = f64::from(call.times) * call.share;
        let far_calls = times * far;
        if call.parallel {
            // All at once take at least as long as the longest; with a share, where it is made.
            return Ok(Self {
                answer_s: call.share * longest.0,
                way_s: call.share * longest.1,
                far_calls,
            });
        }
        Ok(Self {
            answer_s: times * answer_sum_s,
            way_s: times * way_sum_s,
            far_calls,
        })
    }
}

/// Tiers in an order in which those that are called come first. Calls in a circle, which no file may have, end here too.
fn callees_first(world: &World) -> Vec<usize> {
    fn add(world: &World, index: usize, is_known: &mut [bool], order: &mut Vec<usize>) {
        if std::mem::replace(&mut is_known[index], true) {
            return;
        }
        for to in world.tiers[index].calls.iter().flat_map(|call| &call.to) {
            add(world, *to, is_known, order);
        }
        order.push(index);
    }
    let mut is_known = vec![false; world.tiers.len()];
    let mut order = Vec::new();
    for index in 0..world.tiers.len() {
        add(world, index, &mut is_known, &mut order);
    }
    order
}

/// Counts visits from callers to callees. A tier is bounded by its own queue, or when all who call it are and keep their server
/// until it answers: who lets go of it calls again and again.
fn count_visits(world: &World, order: &[usize], tiers: &mut [TierForecast]) {
    let mut has_unbounded_caller = vec![false; tiers.len()];
    for group in &world.load.groups {
        has_unbounded_caller[group.to] = true;
    }
    for index in order.iter().rev() {
        let tier = &world.tiers[*index];
        let is_bounded =
            tier.queue.is_some() || tier.timeout.is_some() || !has_unbounded_caller[*index];
        tiers[*index].is_bounded = is_bounded;
        let calling = tiers[*index].visits * (1.0 - tier.hit_share());
        let mut is_held = true;
        for call in &tier.calls {
            is_held &= call.blocking;
            for to in &call.to {
                tiers[*to].visits += calling * call.share * f64::from(call.times);
                has_unbounded_caller[*to] |= !is_bounded || !is_held;
            }
        }
    }
}
