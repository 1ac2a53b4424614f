//! A world as the engine needs it: flat arrays of numbers, names left out.

use plimsoll_config::world::{MissingDistance, World, WorldDemand};
use plimsoll_model::objective::Objective;

use crate::time_law::TimeLaw;

/// A tier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompiledTier {
    pub(crate) service: TimeLaw,
    pub(crate) hit_service: TimeLaw,
    /// Share of requests that are hits.
    pub(crate) hit: f64,
    pub(crate) servers: u32,
    /// Requests that may have left the queue: threads, else servers.
    pub(crate) slots: u32,
    pub(crate) has_threads: bool,
    pub(crate) queue_max: u32,
    /// Longest wait, ns; the maximum without a limit.
    pub(crate) timeout_ns: u64,
    /// Its steps: from, and the first that is not its own.
    pub(crate) steps: (u32, u32),
}

/// An entry of `calls`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompiledStep {
    /// Index of its first target, and how many it has.
    pub(crate) targets: (u32, u32),
    /// Calls of a request, if all are made.
    pub(crate) calls: u32,
    /// Share of calls that are made.
    pub(crate) share: f64,
    pub(crate) is_parallel: bool,
    pub(crate) is_blocking: bool,
}

/// Where a request goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallTarget {
    pub(crate) tier: u16,
    pub(crate) round_trip: TimeLaw,
}

/// Clients of a region.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompiledGroup {
    /// Share of all clients in this group and those before it.
    pub(crate) share_until: f64,
    pub(crate) target: CallTarget,
}

/// How much clients send.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CompiledDemand {
    /// Mean time between requests, ns.
    Open(f64),
    /// Users, and their time to think.
    Closed(u32, TimeLaw),
}

/// A world in flat arrays.
#[derive(Clone, Debug)]
pub(crate) struct CompiledWorld {
    pub(crate) tiers: Vec<CompiledTier>,
    pub(crate) steps: Vec<CompiledStep>,
    pub(crate) targets: Vec<CallTarget>,
    pub(crate) groups: Vec<CompiledGroup>,
    pub(crate) demand: CompiledDemand,
    pub(crate) patience: Option<TimeLaw>,
    pub(crate) retries: u32,
    pub(crate) retry_after: TimeLaw,
    pub(crate) objective: Objective,
}

impl CompiledWorld {
    pub(crate) fn of(world: &World) -> Result<Self, MissingDistance> {
        let mut compiled = Self {
            tiers: Vec::with_capacity(world.tiers.len()),
            steps: Vec::new(),
            targets: Vec::new(),
            groups: Vec::new(),
            demand: demand(&world.load.demand),
            patience: world.load.patience.as_ref().map(TimeLaw::of),
            retries: world.load.retries,
            retry_after: TimeLaw::of(&world.load.retry_after),
            objective: world.objective.clone(),
        };
        for tier in 0..world.tiers.len() {
            compiled.add_tier(world, tier)?;
        }
        compiled.add_groups(world)?;
        Ok(compiled)
    }

    fn add_tier(&mut self, world: &World, index: usize) -> Result<(), MissingDistance> {
        let tier = &world.tiers[index];
        let first = count(self.steps.len());
        for call in &tier.calls {
            let targets = (count(self.targets.len()), count(call.to.len()));
            for to in &call.to {
                let round_trip = world.distances.of_call(tier, &world.tiers[*to])?;
                self.targets.push(CallTarget {
                    tier: tier_index(*to),
                    round_trip: TimeLaw::of(&round_trip),
                });
            }
            self.steps.push(CompiledStep {
                targets,
                calls: call.times.saturating_mul(targets.1),
                share: call.share,
                is_parallel: call.parallel,
                is_blocking: call.blocking,
            });
        }
        let service = TimeLaw::of(&tier.service);
        let hit_service = tier.cache.as_ref().and_then(|cache| cache.service.as_ref());
        let servers = tier.servers_total();
        self.tiers.push(CompiledTier {
            service,
            hit_service: hit_service.map_or(service, TimeLaw::of),
            hit: tier.hit_share(),
            servers,
            slots: tier.threads_total().unwrap_or(servers),
            has_threads: tier.threads.is_some(),
            queue_max: tier.queue.unwrap_or(u32::MAX),
            timeout_ns: tier.timeout.map_or(u64::MAX, |timeout| {
                u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX)
            }),
            steps: (first, count(self.steps.len())),
        });
        Ok(())
    }

    fn add_groups(&mut self, world: &World) -> Result<(), MissingDistance> {
        let whole: f64 = world.load.groups.iter().map(|group| group.share).sum();
        let mut share_until = 0.0;
        for group in &world.load.groups {
            let to = &world.tiers[group.to];
            let round_trip = world.distances.of_clients(group.region.as_deref(), to)?;
            share_until += group.share / whole;
            self.groups.push(CompiledGroup {
                share_until,
                target: CallTarget {
                    tier: tier_index(group.to),
                    round_trip: TimeLaw::of(&round_trip),
                },
            });
        }
        Ok(())
    }
}

fn demand(demand: &WorldDemand) -> CompiledDemand {
    match demand {
        WorldDemand::Rate(rate) => CompiledDemand::Open(1e9 / rate),
        WorldDemand::Users { count, think } => CompiledDemand::Closed(*count, TimeLaw::of(think)),
    }
}

fn count(len: usize) -> u32 {
    u32::try_from(len)
        .expect("a world has at most 10,000 entries of calls, each with at most 10,000 targets")
}

fn tier_index(index: usize) -> u16 {
    u16::try_from(index).expect("a world has at most 100 tiers")
}
