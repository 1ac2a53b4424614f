//! What clients do: they arrive or think, send, wait, give up and try again.

use plimsoll_model::objective::{LatencyBound, Objective};
use rand::RngExt as _;

use super::requests::OF_VISIT;
use super::{ARRIVAL, Engine, NOTHING, PATIENCE, SEND};
use crate::batch_means::BatchMeans;
use crate::compiled::{CompiledDemand, CompiledWorld};
use crate::time_histogram::TimeHistogram;
use crate::time_law::{exponential, whole_ns};

/// Most visits at once: 400 MB.
const VISITS_MAX: usize = 10_000_000;

/// A request of a client with its repetitions; in a closed world, a user with one after the other.
#[derive(Clone, Copy, Debug)]
struct Visit {
    /// When it was first sent.
    started_ns: u64,
    /// When the client gives the present attempt up; 0 without one.
    deadline_ns: u64,
    /// The request of the present attempt.
    request: u32,
    /// The next free place.
    next: u32,
    retries_left: u32,
    /// Events of patience that have not happened yet: until then the place is not used again.
    timers: u32,
    group: u16,
    /// It is answered or has failed for good.
    is_over: bool,
}

/// All clients.
#[derive(Debug)]
pub(super) struct ClientState {
    visits: Vec<Visit>,
    first_free: u32,
    pub(super) counts: ClientCounts,
}

/// What clients got.
#[derive(Debug)]
pub(crate) struct ClientCounts {
    pub(crate) response: TimeHistogram,
    pub(crate) response_means: BatchMeans,
    pub(crate) failed: u64,
    /// 1 for each request that failed for good, 0 for each other.
    pub(crate) failed_means: BatchMeans,
    pub(crate) given_up: u64,
    pub(crate) attempts: u64,
    /// For each latency bound of the objective: what breaks it, 1 for each request that does.
    pub(crate) bounds: Vec<BoundCounts>,
    pub(crate) groups: Vec<GroupCounts>,
}

/// Requests that were slower than a bound, or failed.
#[derive(Debug)]
pub(crate) struct BoundCounts {
    pub(crate) bound: LatencyBound,
    within_ns: u64,
    pub(crate) bad: u64,
    pub(crate) bad_means: BatchMeans,
}

/// What clients of a group got.
#[derive(Debug)]
pub(crate) struct GroupCounts {
    pub(crate) response: TimeHistogram,
    pub(crate) response_means: BatchMeans,
    pub(crate) failed: u64,
}

impl ClientCounts {
    fn new(objective: &Objective, groups: usize) -> Self {
        let bounds = objective.latency.iter().map(|bound| BoundCounts {
            bound: *bound,
            within_ns: bound.within_us.saturating_mul(1_000),
            bad: 0,
            bad_means: BatchMeans::new(),
        });
        Self {
            response: TimeHistogram::new(),
            response_means: BatchMeans::new(),
            failed: 0,
            failed_means: BatchMeans::new(),
            given_up: 0,
            attempts: 0,
            bounds: bounds.collect(),
            groups: (0..groups).map(|_| GroupCounts::new()).collect(),
        }
    }

    /// Requests that ended.
    pub(crate) fn requests(&self) -> u64 {
        self.response.count() + self.failed
    }

    pub(super) fn reset(&mut self) {
        self.response.reset();
        self.response_means.reset();
        self.failed = 0;
        self.failed_means.reset();
        self.given_up = 0;
        self.attempts = 0;
        for bound in &mut self.bounds {
            bound.bad = 0;
            bound.bad_means.reset();
        }
        for group in &mut self.groups {
            group.response.reset();
            group.response_means.reset();
            group.failed = 0;
        }
    }

    /// A request ended; `response_ns` of a good one.
    #[inline]
    fn record(&mut self, group: u16, response_ns: Option<u64>) {
        let group = &mut self.groups[usize::from(group)];
        if let Some(response_ns) = response_ns {
            self.response.record(response_ns);
            self.response_means.add(response_ns as f64);
            group.response.record(response_ns);
            group.response_means.add(response_ns as f64);
        } else {
            self.failed += 1;
            group.failed += 1;
        }
        self.failed_means
            .add(f64::from(u8::from(response_ns.is_none())));
        for bound in &mut self.bounds {
            let is_bad = response_ns.is_none_or(|response_ns| response_ns > bound.within_ns);
            bound.bad += u64::from(is_bad);
            bound.bad_means.add(f64::from(u8::from(is_bad)));
        }
    }
}

impl GroupCounts {
    fn new() -> Self {
        Self {
            response: TimeHistogram::new(),
            response_means: BatchMeans::new(),
            failed: 0,
        }
    }
}

impl ClientState {
    pub(super) fn new(world: &CompiledWorld) -> Self {
        Self {
            visits: Vec::new(),
            first_free: NOTHING,
            counts: ClientCounts::new(&world.objective, world.groups.len()),
        }
    }

    /// A place for a visit; `None` when there are too many.
    #[inline]
    fn add(&mut self, visit: Visit) -> Option<u32> {
        if self.first_free != NOTHING {
            let index = self.first_free;
            let place = &mut self.visits[index as usize];
            self.first_free = place.next;
            *place = visit;
            return Some(index);
        }
        if self.visits.len() >= VISITS_MAX {
            return None;
        }
        let index = u32::try_from(self.visits.len()).ok()?;
        self.visits.push(visit);
        Some(index)
    }

    #[inline]
    fn remove(&mut self, index: u32) {
        self.visits[index as usize].next = self.first_free;
        self.first_free = index;
    }
}

impl Engine {
    /// The first arrivals: of an open world the first request, of a closed one a time to think of each user.
    pub(super) fn begin(&mut self) {
        match self.world.demand {
            CompiledDemand::Open(_) => self.next_arrival(),
            CompiledDemand::Closed(users, think) => {
                for _ in 0..users {
                    // Each begins with a time to think, as after a visit.
                    let visit = Visit {
                        is_over: true,
                        ..self.new_visit()
                    };
                    let Some(index) = self.clients.add(visit) else {
                        self.is_full = true;
                        return;
                    };
                    let at_ns = think.draw(&mut self.random.arrivals);
                    self.heap.push(at_ns, SEND | index);
                }
            }
        }
    }

    fn new_visit(&mut self) -> Visit {
        Visit {
            started_ns: self.now_ns,
            deadline_ns: 0,
            request: NOTHING,
            next: NOTHING,
            retries_left: self.world.retries,
            timers: 0,
            group: self.choose_group(),
            is_over: false,
        }
    }

    fn choose_group(&mut self) -> u16 {
        let groups = &self.world.groups;
        if groups.len() < 2 {
            return 0;
        }
        let draw = self.random.arrivals.random::<f64>();
        let found = groups.partition_point(|group| group.share_until <= draw);
        u16::try_from(found.min(groups.len() - 1)).expect("a world has at most 500 groups")
    }

    #[inline]
    fn next_arrival(&mut self) {
        if let CompiledDemand::Open(gap_ns) = self.world.demand {
            let gap_ns = whole_ns(exponential(gap_ns, &mut self.random.arrivals));
            self.heap.push(self.now_ns + gap_ns, ARRIVAL);
        }
    }

    /// A client of an open world arrives, and the next one is due.
    pub(super) fn client_arrives(&mut self) {
        self.next_arrival();
        let visit = self.new_visit();
        match self.clients.add(visit) {
            Some(index) => self.attempt(index),
            None => self.is_full = true,
        }
    }

    /// Sends the request of a visit, and sets the time after which it is given up.
    fn attempt(&mut self, index: u32) {
        self.clients.counts.attempts += 1;
        let group = self.clients.visits[index as usize].group;
        let target = self.world.groups[usize::from(group)].target;
        // Answers are events: the visit has its request before it can be answered.
        let Some(request) = self.send(OF_VISIT | index, &target) else {
            return;
        };
        let visit = &mut self.clients.visits[index as usize];
        visit.request = request;
        if let Some(patience) = self.world.patience {
            let patience_ns = patience.draw(&mut self.random.choices);
            visit.deadline_ns = self.now_ns + patience_ns;
            visit.timers += 1;
            self.heap.push(visit.deadline_ns, PATIENCE | index);
        }
    }

    /// The answer of the present attempt is there.
    pub(super) fn visit_answered(&mut self, index: u32, has_failed: bool) {
        let visit = &mut self.clients.visits[index as usize];
        visit.request = NOTHING;
        if has_failed {
            self.attempt_failed(index);
        } else {
            self.end_visit(index, true);
        }
    }

    /// A patience ends: of the present attempt, or of one that was answered before.
    pub(super) fn patience_ends(&mut self, index: u32) {
        let is_closed = self.is_closed();
        let visit = &mut self.clients.visits[index as usize];
        visit.timers -= 1;
        if visit.request != NOTHING && visit.deadline_ns == self.now_ns {
            // The service goes on with it; nobody waits for its answer.
            self.requests.at_mut(visit.request).parent = NOTHING;
            visit.request = NOTHING;
            self.clients.counts.given_up += 1;
            self.attempt_failed(index);
        } else if visit.is_over && visit.timers == 0 && !is_closed {
            self.clients.remove(index);
        }
    }

    fn attempt_failed(&mut self, index: u32) {
        let visit = &mut self.clients.visits[index as usize];
        if visit.retries_left == 0 {
            self.end_visit(index, false);
            return;
        }
        visit.retries_left -= 1;
        let pause_ns = self.world.retry_after.draw(&mut self.random.choices);
        self.heap.push(self.now_ns + pause_ns, SEND | index);
    }

    /// A visit is over, well or not. A user thinks; any other place becomes free.
    fn end_visit(&mut self, index: u32, is_good: bool) {
        let visit = &mut self.clients.visits[index as usize];
        let response_ns = is_good.then(|| self.now_ns - visit.started_ns);
        self.clients.counts.record(visit.group, response_ns);
        visit.is_over = true;
        if let CompiledDemand::Closed(_, think) = self.world.demand {
            let at_ns = self.now_ns + think.draw(&mut self.random.arrivals);
            self.heap.push(at_ns, SEND | index);
        } else if visit.timers == 0 {
            self.clients.remove(index);
        }
    }

    /// Whether there are users, who stay.
    fn is_closed(&self) -> bool {
        matches!(self.world.demand, CompiledDemand::Closed(..))
    }

    /// A client sends: a visit again after a failure, or a user after a time to think.
    pub(super) fn send_again(&mut self, index: u32) {
        let is_closed = self.is_closed();
        let now_ns = self.now_ns;
        let retries = self.world.retries;
        let visit = &mut self.clients.visits[index as usize];
        if is_closed && visit.is_over {
            visit.is_over = false;
            visit.started_ns = now_ns;
            visit.retries_left = retries;
        }
        self.attempt(index);
    }
}
