//! What a request does at its tier: it waits, is served, makes its calls and ends.

use rand::RngExt as _;

use super::requests::{FAILED, HAS_SLOT, HIT, IN_STEP, OF_VISIT, RequestQueue, TierRequest};
use super::{ANSWER, DELIVERY, Engine, NOTHING, QUEUE_TIMER, SERVED};
use crate::batch_means::BatchMeans;
use crate::compiled::{CallTarget, CompiledStep, CompiledTier};
use crate::time_histogram::TimeHistogram;

/// A tier at a moment.
#[derive(Debug)]
pub(super) struct TierState {
    /// Slots that nobody has: threads, else servers.
    free_slots: u32,
    /// Requests in service.
    serving: u32,
    /// Requests without a slot.
    queue: RequestQueue,
    /// Requests with a thread that wait for a server.
    ready: RequestQueue,
    /// Whether an event will look at the first of the queue.
    has_timer: bool,
    slots: u32,
    /// Moment up to which the sums of `counts` go, ns.
    summed_to_ns: u64,
    counts: TierCounts,
}

/// What a tier did.
#[derive(Debug)]
pub(crate) struct TierCounts {
    pub(crate) arrived: u64,
    pub(crate) refused: u64,
    pub(crate) timed_out: u64,
    pub(crate) call_failed: u64,
    pub(crate) response: TimeHistogram,
    pub(crate) response_means: BatchMeans,
    pub(crate) wait: TimeHistogram,
    pub(crate) wait_means: BatchMeans,
    /// Taken slots, requests in service and waiting requests, each times ns.
    pub(crate) slots_ns: u128,
    pub(crate) serving_ns: u128,
    pub(crate) waiting_ns: u128,
}

impl TierCounts {
    fn new() -> Self {
        Self {
            arrived: 0,
            refused: 0,
            timed_out: 0,
            call_failed: 0,
            response: TimeHistogram::new(),
            response_means: BatchMeans::new(),
            wait: TimeHistogram::new(),
            wait_means: BatchMeans::new(),
            slots_ns: 0,
            serving_ns: 0,
            waiting_ns: 0,
        }
    }

    fn reset(&mut self) {
        self.arrived = 0;
        self.refused = 0;
        self.timed_out = 0;
        self.call_failed = 0;
        self.response.reset();
        self.response_means.reset();
        self.wait.reset();
        self.wait_means.reset();
        self.slots_ns = 0;
        self.serving_ns = 0;
        self.waiting_ns = 0;
    }
}

impl TierState {
    pub(super) fn new(tier: &CompiledTier) -> Self {
        Self {
            free_slots: tier.slots,
            serving: 0,
            queue: RequestQueue::new(),
            ready: RequestQueue::new(),
            has_timer: false,
            slots: tier.slots,
            summed_to_ns: 0,
            counts: TierCounts::new(),
        }
    }

    pub(super) fn reset_counts(&mut self, now_ns: u64) {
        self.counts.reset();
        self.summed_to_ns = now_ns;
    }

    /// The counts with the sums up to a moment.
    pub(super) fn counts_at(&mut self, now_ns: u64) -> &TierCounts {
        self.sum_to(now_ns);
        &self.counts
    }

    /// Adds the time since the last change to the sums. Comes before each change of what is summed.
    #[inline]
    fn sum_to(&mut self, now_ns: u64) {
        let elapsed = u128::from(now_ns - self.summed_to_ns);
        self.summed_to_ns = now_ns;
        let waiting = u64::from(self.queue.len()) + u64::from(self.ready.len());
        self.counts.slots_ns += u128::from(self.slots - self.free_slots) * elapsed;
        self.counts.serving_ns += u128::from(self.serving) * elapsed;
        self.counts.waiting_ns += u128::from(waiting) * elapsed;
    }
}

impl Engine {
    /// Sends a request to a tier, for a visit or another request.
    pub(super) fn send(&mut self, parent: u32, target: &CallTarget) -> Option<u32> {
        let round_trip_ns = target.round_trip.draw(&mut self.random.ways);
        // Each direction takes half of one draw, as of `plimsoll link`.
        let there_ns = round_trip_ns / 2;
        let tier = &self.world.tiers[usize::from(target.tier)];
        let index = self.requests.add(TierRequest {
            arrived_ns: 0,
            back_ns: round_trip_ns - there_ns,
            parent,
            next: NOTHING,
            step: tier.steps.0,
            left: 0,
            tier: target.tier,
            flags: 0,
        });
        let Some(index) = index else {
            self.is_full = true;
            return None;
        };
        if there_ns == 0 {
            self.arrive(index);
        } else {
            self.heap.push(self.now_ns + there_ns, DELIVERY | index);
        }
        Some(index)
    }

    /// A request reaches its tier: it takes a slot, waits, or is refused.
    pub(super) fn arrive(&mut self, index: u32) {
        let now_ns = self.now_ns;
        let request = self.requests.at_mut(index);
        request.arrived_ns = now_ns;
        let tier = usize::from(request.tier);
        let limits = &self.world.tiers[tier];
        let state = &mut self.tiers[tier];
        state.counts.arrived += 1;
        if state.free_slots > 0 {
            self.take_slot(index, tier);
            return;
        }
        if state.queue.len() >= limits.queue_max {
            state.counts.refused += 1;
            self.fail_in_queue(index);
            return;
        }
        state.sum_to(now_ns);
        state.queue.push(&mut self.requests, index);
        if limits.timeout_ns < u64::MAX && !state.has_timer {
            state.has_timer = true;
            let at_ns = now_ns.saturating_add(limits.timeout_ns);
            self.heap.push(at_ns, QUEUE_TIMER | tier_event(tier));
        }
    }

    /// The first of a queue has waited as long as it may, or was served since. All wait equally long, so the first is the first
    /// to be over, and one timer for each tier is enough.
    pub(super) fn check_queue(&mut self, tier: u32) {
        let tier = tier as usize;
        let now_ns = self.now_ns;
        let timeout_ns = self.world.tiers[tier].timeout_ns;
        self.tiers[tier].has_timer = false;
        while let Some(first) = self.tiers[tier].queue.first() {
            let until_ns = self
                .requests
                .at(first)
                .arrived_ns
                .saturating_add(timeout_ns);
            let state = &mut self.tiers[tier];
            if until_ns > now_ns {
                state.has_timer = true;
                self.heap.push(until_ns, QUEUE_TIMER | tier_event(tier));
                return;
            }
            state.sum_to(now_ns);
            state.queue.pop(&self.requests);
            state.counts.timed_out += 1;
            self.fail_in_queue(first);
        }
    }

    /// A request fails that never had a slot. Its answer is an event even without a way, so that whoever sends calls at once is not
    /// answered while sending.
    fn fail_in_queue(&mut self, index: u32) {
        let request = self.requests.at_mut(index);
        request.flags |= FAILED;
        self.heap
            .push(self.now_ns + request.back_ns, ANSWER | index);
    }

    /// A request leaves the queue.
    #[inline]
    fn take_slot(&mut self, index: u32, tier: usize) {
        self.requests.at_mut(index).flags |= HAS_SLOT;
        let limits = &self.world.tiers[tier];
        let state = &mut self.tiers[tier];
        state.sum_to(self.now_ns);
        state.free_slots -= 1;
        if limits.has_threads && state.serving >= limits.servers {
            state.ready.push(&mut self.requests, index);
        } else {
            self.serve(index, tier);
        }
    }

    /// The service of a request begins. The sums of its tier go up to now.
    #[inline]
    fn serve(&mut self, index: u32, tier: usize) {
        let limits = &self.world.tiers[tier];
        let state = &mut self.tiers[tier];
        let request = self.requests.at_mut(index);
        let wait_ns = self.now_ns - request.arrived_ns;
        state.counts.wait.record(wait_ns);
        state.counts.wait_means.add(wait_ns as f64);
        state.serving += 1;
        let mut law = limits.service;
        if limits.hit > 0.0 && self.random.choices.random::<f64>() < limits.hit {
            request.flags |= HIT;
            law = limits.hit_service;
        }
        let service_ns = law.draw(&mut self.random.services);
        self.heap.push(self.now_ns + service_ns, SERVED | index);
    }

    /// The service of a request ends: its calls begin.
    pub(super) fn served(&mut self, index: u32) {
        let request = self.requests.at(index);
        let (tier, is_hit) = (usize::from(request.tier), request.flags & HIT != 0);
        let state = &mut self.tiers[tier];
        state.sum_to(self.now_ns);
        state.serving -= 1;
        if self.world.tiers[tier].has_threads
            && let Some(next) = state.ready.pop(&self.requests)
        {
            self.serve(next, tier);
        }
        if is_hit {
            self.complete(index);
        } else {
            self.advance(index);
        }
    }

    /// Makes the next calls of a request; it ends when there are none.
    fn advance(&mut self, index: u32) {
        loop {
            let request = *self.requests.at(index);
            if request.step == self.world.tiers[usize::from(request.tier)].steps.1 {
                self.complete(index);
                return;
            }
            let step = self.world.steps[request.step as usize];
            if !step.is_blocking {
                self.release_slot(index);
            }
            let is_begun = request.flags & IN_STEP != 0;
            let waits = match (step.is_parallel, is_begun) {
                (true, true) => false,
                (true, false) => self.call_all(index, &step),
                (false, _) => self.call_next(index, &step, is_begun),
            };
            if waits {
                return;
            }
            let request = self.requests.at_mut(index);
            request.step += 1;
            request.flags &= !IN_STEP;
        }
    }

    /// Makes all calls of a step; whether there are any.
    fn call_all(&mut self, index: u32, step: &CompiledStep) -> bool {
        self.requests.at_mut(index).flags |= IN_STEP;
        let mut made = 0;
        for call in 0..step.calls {
            if self.is_made(step) {
                made += 1;
                // Answers are events, so none arrives before all are sent.
                self.call(index, step, call);
            }
        }
        self.requests.at_mut(index).left = made;
        made > 0
    }

    /// Makes the next call of a step; whether there is one left.
    fn call_next(&mut self, index: u32, step: &CompiledStep, is_begun: bool) -> bool {
        let request = self.requests.at_mut(index);
        request.flags |= IN_STEP;
        let mut left = if is_begun { request.left } else { step.calls };
        while left > 0 {
            left -= 1;
            if self.is_made(step) {
                self.requests.at_mut(index).left = left;
                self.call(index, step, step.calls - 1 - left);
                return true;
            }
        }
        false
    }

    #[inline]
    fn is_made(&mut self, step: &CompiledStep) -> bool {
        step.share >= 1.0 || self.random.choices.random::<f64>() < step.share
    }

    fn call(&mut self, index: u32, step: &CompiledStep, call: u32) {
        let (first, len) = step.targets;
        let target = self.world.targets[(first + call % len) as usize];
        self.send(index, &target);
    }

    /// A request ends at its tier: its slot is free, and its answer is on the way.
    fn complete(&mut self, index: u32) {
        let request = *self.requests.at(index);
        let counts = &mut self.tiers[usize::from(request.tier)].counts;
        if request.flags & FAILED == 0 {
            let response_ns = self.now_ns - request.arrived_ns;
            counts.response.record(response_ns);
            counts.response_means.add(response_ns as f64);
        } else {
            counts.call_failed += 1;
        }
        self.release_slot(index);
        if request.back_ns == 0 {
            self.answer(index);
        } else {
            self.heap
                .push(self.now_ns + request.back_ns, ANSWER | index);
        }
    }

    /// Gives the slot of a request, if it has one, to the first that waits.
    fn release_slot(&mut self, index: u32) {
        let request = self.requests.at_mut(index);
        if request.flags & HAS_SLOT == 0 {
            return;
        }
        request.flags &= !HAS_SLOT;
        let tier = usize::from(request.tier);
        let state = &mut self.tiers[tier];
        state.sum_to(self.now_ns);
        state.free_slots += 1;
        if let Some(next) = state.queue.pop(&self.requests) {
            self.take_slot(next, tier);
        }
    }

    /// An answer reaches whoever waits for it.
    pub(super) fn answer(&mut self, index: u32) {
        let request = self.requests.remove(index);
        let has_failed = request.flags & FAILED != 0;
        if request.parent == NOTHING {
            return;
        }
        if request.parent & OF_VISIT != 0 {
            self.visit_answered(request.parent & !OF_VISIT, has_failed);
            return;
        }
        let parent = self.requests.at_mut(request.parent);
        if has_failed {
            parent.flags |= FAILED;
        }
        if self.world.steps[parent.step as usize].is_parallel {
            parent.left -= 1;
            if parent.left > 0 {
                return;
            }
        }
        if parent.flags & FAILED != 0 {
            self.complete(request.parent);
        } else {
            self.advance(request.parent);
        }
    }
}

fn tier_event(tier: usize) -> u32 {
    u32::try_from(tier).expect("a world has at most 100 tiers")
}
