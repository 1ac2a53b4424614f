//! A policy over a trace, second by second, in a world with start times, late signals and a queue with a deadline.

mod queue;
mod replicas;

use std::collections::VecDeque;

use plimsoll_config::scale::{REPLICAS_MAX, ScalePolicy};
use plimsoll_model::seed::Seed;

use crate::capacity::ReplicaLaw;
use crate::decide::{ScaleState, decide};
use crate::decision::Decision;
use crate::judgement::{Judgement, ScalerRecord, judge};
use crate::readings::{ScaleReadings, SharedTier, SignalValues};
use crate::trace::ScaleTrace;
use crate::whole::seconds;
use queue::{DeadlineQueue, QueueSecond};
use replicas::ReplicaFleet;

/// Decisions that are kept at most; later ones are counted.
const DECISIONS_MAX: usize = 10_000;
/// Share of the load lines that the first rate may use.
const FIRST_UTILISATION: f64 = 0.75;

/// Why a trace cannot be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The trace has no second.
    #[error("the trace is empty")]
    Empty,
}

/// A second of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReplaySecond {
    /// Requests that arrived, 1/s.
    pub offered: f64,
    /// Requests that were answered in time, 1/s.
    pub served: f64,
    /// Requests that waited too long, 1/s.
    pub bad: f64,
    /// Requests that wait at its end.
    pub queue: f64,
    /// The fewest replicas whose load line is not below the rate.
    pub demand: u32,
    /// Replicas that answered.
    pub ready: u32,
    /// Replicas that were held: ready ones and those that started.
    pub held: u32,
}

/// What a policy did with a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// Second by second.
    pub seconds: Vec<ReplaySecond>,
    /// Decisions that changed something or were refused, in the order of time; equal ones in a row are one.
    pub decisions: Vec<Decision>,
    /// Decisions beyond those that are kept.
    pub decisions_left_out: u64,
    /// The judgement.
    pub judgement: Judgement,
    /// Hours that replicas are paid for.
    pub paid_hours: f64,
    /// The price, where the policy has prices, in their currency.
    pub price: Option<f64>,
}

/// Replays a trace; `shared` is a limit that all replicas share from the beginning. Equal arguments give equal results.
///
/// # Errors
/// When the trace is empty.
pub fn replay(
    policy: &ScalePolicy,
    trace: &ScaleTrace,
    shared: Option<&SharedTier>,
) -> Result<Replay, ReplayError> {
    let mut world = ReplayWorld::new(policy, trace, shared);
    for (second, rate) in (0_u32..).zip(trace.rates()) {
        world.step(second, *rate);
    }
    world.finish()
}

/// The replay while it goes on.
struct ReplayWorld<'a> {
    policy: &'a ScalePolicy,
    trace: &'a ScaleTrace,
    shared: Option<&'a SharedTier>,
    law: ReplicaLaw,
    state: ScaleState,
    fleet: ReplicaFleet,
    queue: DeadlineQueue,
    /// Signals that are on their way to the policy.
    late: VecDeque<SignalValues>,
    lag_s: u32,
    seconds: Vec<ReplaySecond>,
    decisions: Vec<Decision>,
    left_out: u64,
}

impl<'a> ReplayWorld<'a> {
    fn new(policy: &'a ScalePolicy, trace: &'a ScaleTrace, shared: Option<&'a SharedTier>) -> Self {
        let law = ReplicaLaw::of(&policy.replica);
        let first = trace.rates().first().copied().unwrap_or(0.0);
        let needed = law.replicas_for(first, FIRST_UTILISATION, policy.max);
        let initial = policy.world.initial.unwrap_or(needed);
        Self {
            policy,
            trace,
            shared,
            law,
            state: ScaleState::new(policy),
            fleet: ReplicaFleet::new(
                initial.clamp(policy.min, policy.max),
                &policy.replica,
                (policy.world.start, Seed(policy.world.seed)),
            ),
            queue: DeadlineQueue::new(seconds(policy.world.deadline)),
            late: VecDeque::new(),
            lag_s: seconds(policy.world.lag),
            seconds: Vec::with_capacity(trace.rates().len()),
            decisions: Vec::new(),
            left_out: 0,
        }
    }

    fn step(&mut self, second: u32, rate: f64) {
        let ready = self.fleet.ready(second);
        let capacity = self.capacity(ready);
        let served = self.queue.step(rate, capacity);
        let held = self.fleet.held();
        self.seconds.push(ReplaySecond {
            offered: rate,
            served: served.served,
            bad: served.bad,
            queue: served.waiting,
            // What is needed, also where the policy may not have it: `max` hides no shortage.
            demand: self.law.replicas_for(rate, 1.0, REPLICAS_MAX),
            ready,
            held,
        });
        self.late.push_back(self.signals(rate, capacity, &served));
        let Some(measured_s) = (second + 1).checked_sub(self.lag_s) else {
            return;
        };
        if measured_s == 0 {
            return;
        }
        let Some(signals) = self.late.pop_front() else {
            return;
        };
        let readings = ScaleReadings {
            at_s: second + 1,
            measured_s,
            replicas: held,
            ready,
            unmeasured: 0,
            signals,
            began_unix_s: self.trace.began_unix_s(),
            began_day_s: self.trace.began_day_s(),
            shared: self.shared_at(rate, ready),
            ages_s: self.fleet.ages_s(second + 1),
        };
        let decision = decide(self.policy, &mut self.state, &readings);
        self.fleet.set(decision.applied(), second + 1);
        self.remember(decision);
    }

    /// What the replicas carry, and what they share lets through.
    fn capacity(&self, ready: u32) -> f64 {
        let capacity = self.law.capacity(ready);
        let shared = self.policy.world.shared_line;
        shared.map_or(capacity, |line| line.min(capacity))
    }

    /// The shared limit, once it binds before the replicas do.
    fn shared_at(&self, rate: f64, ready: u32) -> Option<SharedTier> {
        let world = &self.policy.world;
        let planted = world.shared.as_ref().zip(world.shared_line);
        if let Some((name, line)) = planted
            && rate > line
            && self.law.capacity(ready) >= line
        {
            return Some(SharedTier { name: name.clone() });
        }
        self.shared.cloned()
    }

    fn signals(&self, rate: f64, capacity: f64, served: &QueueSecond) -> SignalValues {
        let replica = &self.policy.replica;
        let service_s = replica.service.as_secs_f64();
        let work = served.served / capacity.max(f64::MIN_POSITIVE);
        SignalValues {
            offered: Some(rate),
            served: Some(served.served),
            shed: Some(served.bad),
            queue: Some(served.waiting),
            in_flight: Some(served.served * service_s + served.waiting),
            latency: Some(served.wait_s + service_s),
            cpu: Some(work.min(1.0)),
            series: std::collections::BTreeMap::new(),
        }
    }

    fn remember(&mut self, decision: Decision) {
        if !decision.is_change() {
            return;
        }
        let is_same = self.decisions.last().is_some_and(|last| {
            last.refused_by.is_some()
                && decision.refused_by.is_some()
                && (last.wanted, last.now) == (decision.wanted, decision.now)
        });
        if is_same {
            return;
        }
        if self.decisions.len() < DECISIONS_MAX {
            self.decisions.push(decision);
        } else {
            self.left_out += 1;
        }
    }

    fn finish(self) -> Result<Replay, ReplayError> {
        let column = |of: fn(&ReplaySecond) -> u32| self.seconds.iter().map(of).collect::<Vec<_>>();
        let rates = |of: fn(&ReplaySecond) -> f64| self.seconds.iter().map(of).collect::<Vec<_>>();
        let (demand, ready) = (
            column(|second| second.demand),
            column(|second| second.ready),
        );
        let held = column(|second| second.held);
        let (offered, mut bad) = (rates(|second| second.offered), rates(|second| second.bad));
        // Who waits at the end has had no good answer.
        if let Some(last) = bad.last_mut() {
            *last += self
                .queue
                .hopeless(self.capacity(ready.last().copied().unwrap_or(0)));
        }
        let record = ScalerRecord {
            demand: &demand,
            ready: &ready,
            held: &held,
            offered: &offered,
            bad: Some(&bad),
        };
        let judgement = judge(&record).ok_or(ReplayError::Empty)?;
        let paid_hours = self.fleet.paid_hours(self.trace.len_s());
        let price = self.policy.price.as_ref().map(|price| {
            let requests: f64 = offered.iter().sum();
            price.machine_hour * paid_hours + price.of_traffic(requests, 0.0)
        });
        Ok(Replay {
            seconds: self.seconds,
            decisions: self.decisions,
            decisions_left_out: self.left_out,
            judgement,
            paid_hours,
            price,
        })
    }
}
