//! Availability of a service by what its users met: nines, incidents, reliability, error budget.
//!
//! Time is cut into slots; a slot in which at least half of the requests failed is down. Availability is (service − down) /
//! service over the slots with requests: where nobody asked, nothing is known. Between two slots that are down and have no
//! other between them, the service is down too: a server that is gone logs nothing.
//!
//! A success is an answer that the client asked for: a rightful 404 is one, an answer later than the longest bound of the objective is
//! not. The error budget is what the objective allows to be bad (Site Reliability Engineering, 2016; burn rate as in The Site
//! Reliability Workbook, 2018, chapter 5).

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::objective::{LatencyBound, Objective};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::run::Run;
use plimsoll_model::window::Window;

/// Slots at most: two years of minutes, or twelve days of seconds.
pub const SLOTS_MAX: usize = 1_051_200;
/// Clients of failed requests that are told apart, over all slots.
const CLIENTS_MAX: usize = 1_000_000;
/// Length of the window of the highest burn rate, s.
const BURN_WINDOW_S: i64 = 3_600;

/// A request, as a log has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServedRequest {
    /// When it ended, seconds since 1970.
    pub ended_s: i64,
    /// Whether the service answered as it should.
    pub is_good: bool,
    /// Its response time, µs; `None` when the log has none.
    pub response_us: Option<u64>,
    /// What tells its client apart; `None` when the log does not.
    pub client: Option<u64>,
}

/// There are more slots than [`SLOTS_MAX`]: moments lie too far apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManySlots;

/// Requests of a stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct RequestCounts {
    total: u64,
    failed: u64,
    /// Good answers later than the longest bound.
    late: u64,
    /// Requests that are bad by each latency bound.
    bad: Vec<u64>,
}

impl RequestCounts {
    fn merge(&mut self, other: &Self, sign: i64) {
        let add = |sum: &mut u64, value: u64| {
            *sum = sum.saturating_add_signed(sign * value.cast_signed());
        };
        add(&mut self.total, other.total);
        add(&mut self.failed, other.failed);
        add(&mut self.late, other.late);
        self.bad.resize(other.bad.len().max(self.bad.len()), 0);
        for (sum, value) in self.bad.iter_mut().zip(&other.bad) {
            add(sum, *value);
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Slot {
    requests: RequestCounts,
    /// Most virtual users at once.
    users: u64,
    /// Clients whose requests failed.
    clients: BTreeSet<u64>,
}

impl Slot {
    fn is_down(&self) -> bool {
        self.requests.failed * 2 >= self.requests.total
    }
}

/// Gathers requests into slots.
#[derive(Clone, Debug)]
pub struct AvailabilityCounter {
    slot_s: i64,
    latency: Vec<LatencyBound>,
    errors_max: Option<f64>,
    slots: BTreeMap<i64, Slot>,
    clients: usize,
}

/// A stretch of time in which the service was down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incident {
    /// Its beginning, seconds since 1970.
    pub began_s: i64,
    /// Its length, s.
    pub lasted_s: i64,
    /// Requests that failed in it.
    pub failed: u64,
    /// Users that met it: clients whose requests failed, or virtual users; `None` when neither is known.
    pub users: Option<u64>,
}

/// How available a service was.
#[derive(Clone, Debug, PartialEq)]
pub struct Availability {
    /// Length of a slot, s.
    pub slot_s: i64,
    /// First second that is known, since 1970.
    pub from_s: i64,
    /// End of the last.
    pub until_s: i64,
    /// Time with requests, s.
    pub service_s: i64,
    /// Of it down, s.
    pub down_s: i64,
    /// Stretches that were down, in order.
    pub incidents: Vec<Incident>,
    /// Requests.
    pub requests: u64,
    /// Of these failed.
    pub failed: u64,
    /// Good answers that were late.
    pub late: u64,
    /// Error budget; `None` without an objective that allows anything.
    pub budget: Option<ErrorBudget>,
}

/// What an objective allows to be bad, and what is left of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorBudget {
    /// Share of the budget that is left, at most 1; negative when it is overspent. Of several bounds the worst.
    pub left: f64,
    /// Bad requests over those that are allowed, on the whole.
    pub burn_rate: f64,
    /// The same in the worst hour.
    pub burn_rate_of_worst_hour: f64,
}

impl Availability {
    /// (service − down) / service.
    pub fn share(&self) -> f64 {
        (self.service_s - self.down_s) as f64 / self.service_s as f64
    }

    /// −log₁₀(1 − availability): 3 for 99.9 %; `None` when it was never down.
    pub fn nines(&self) -> Option<f64> {
        (self.down_s > 0).then(|| -(self.down_s as f64 / self.service_s as f64).log10())
    }

    /// Share of requests that succeeded in time.
    pub fn reliability(&self) -> f64 {
        (self.requests - self.failed - self.late) as f64 / self.requests as f64
    }
}

impl AvailabilityCounter {
    /// Slots of `slot_s` seconds, judged by an objective, if there is one.
    ///
    /// # Panics
    /// When `slot_s` is not positive.
    pub fn new(slot_s: i64, objective: Option<&Objective>) -> Self {
        assert!(slot_s > 0, "slots of {slot_s} s");
        Self {
            slot_s,
            latency: objective.map_or_else(Vec::new, |objective| objective.latency.clone()),
            errors_max: objective.and_then(|objective| objective.errors_max),
            slots: BTreeMap::new(),
            clients: 0,
        }
    }

    /// Adds the requests of a run that began at this second since 1970.
    ///
    /// # Errors
    /// When there are too many slots.
    pub fn add_run(&mut self, run: &Run, began_s: i64) -> Result<(), TooManySlots> {
        for window in &run.windows {
            let requests = self.counts_of(window);
            if requests.total == 0 {
                continue;
            }
            let slot = self.slot(began_s.saturating_add(window.second.into()))?;
            slot.requests.merge(&requests, 1);
            slot.users = slot.users.max(window.users);
        }
        Ok(())
    }

    /// Adds a request.
    ///
    /// # Errors
    /// When there are too many slots.
    pub fn add_request(&mut self, request: ServedRequest) -> Result<(), TooManySlots> {
        let is_beyond = |bound: u64| request.response_us.is_some_and(|time| time > bound);
        let is_late = self.longest_us().is_some_and(is_beyond);
        let bad = self
            .latency
            .iter()
            .map(|bound| u64::from(!request.is_good || is_beyond(bound.within_us)))
            .collect();
        let requests = RequestCounts {
            total: 1,
            failed: u64::from(!request.is_good),
            late: u64::from(request.is_good && is_late),
            bad,
        };
        let has_room = self.clients < CLIENTS_MAX;
        let slot = self.slot(request.ended_s)?;
        slot.requests.merge(&requests, 1);
        let client = request.client.filter(|_| !request.is_good && has_room);
        if client.is_some_and(|client| slot.clients.insert(client)) {
            self.clients += 1;
        }
        Ok(())
    }

    fn longest_us(&self) -> Option<u64> {
        self.latency.iter().map(|bound| bound.within_us).max()
    }

    fn slot(&mut self, second: i64) -> Result<&mut Slot, TooManySlots> {
        let key = second.div_euclid(self.slot_s);
        if self.slots.len() >= SLOTS_MAX && !self.slots.contains_key(&key) {
            return Err(TooManySlots);
        }
        Ok(self.slots.entry(key).or_default())
    }

    fn counts_of(&self, window: &Window) -> RequestCounts {
        // What was never sent says nothing about the service.
        let dropped = window.outcomes.get(Outcome::Dropped);
        let failed = window.outcomes.failed() - dropped;
        let later = |bound: u64| window.response.count_above(bound);
        RequestCounts {
            total: window.outcomes.total() - dropped,
            failed,
            late: self.longest_us().map_or(0, later),
            bad: self
                .latency
                .iter()
                .map(|bound| failed + later(bound.within_us))
                .collect(),
        }
    }

    /// The availability; `None` without a request.
    pub fn finish(self) -> Option<Availability> {
        let (first, last) = (*self.slots.keys().next()?, *self.slots.keys().next_back()?);
        let mut all = RequestCounts::default();
        for slot in self.slots.values() {
            all.merge(&slot.requests, 1);
        }
        let incidents = self.incidents();
        let down_s = incidents.iter().map(|incident| incident.lasted_s).sum();
        let up = self.slots.values().filter(|slot| !slot.is_down()).count();
        let up_s = i64::try_from(up).unwrap_or(i64::MAX) * self.slot_s;
        Some(Availability {
            slot_s: self.slot_s,
            from_s: first * self.slot_s,
            until_s: (last + 1) * self.slot_s,
            service_s: up_s + down_s,
            down_s,
            incidents,
            requests: all.total,
            failed: all.failed,
            late: all.late,
            budget: self.budget(&all),
        })
    }

    /// Stretches of slots that are down, with no other between them.
    fn incidents(&self) -> Vec<Incident> {
        let slots: Vec<(&i64, &Slot)> = self.slots.iter().collect();
        let stretches = slots.chunk_by(|a, b| a.1.is_down() == b.1.is_down());
        stretches
            .filter(|stretch| stretch[0].1.is_down())
            .map(|stretch| self.incident(stretch))
            .collect()
    }

    fn incident(&self, stretch: &[(&i64, &Slot)]) -> Incident {
        let (first, last) = (stretch[0].0, stretch[stretch.len() - 1].0);
        let clients: BTreeSet<u64> = stretch
            .iter()
            .flat_map(|(_, slot)| &slot.clients)
            .copied()
            .collect();
        let virtual_users = stretch.iter().map(|(_, slot)| slot.users).max();
        // Where there was no room for all clients, their number is not known.
        let clients = (self.clients < CLIENTS_MAX).then_some(clients.len() as u64);
        Incident {
            began_s: first * self.slot_s,
            lasted_s: (last - first + 1) * self.slot_s,
            failed: stretch.iter().map(|(_, slot)| slot.requests.failed).sum(),
            users: clients
                .filter(|clients| *clients > 0)
                .or(virtual_users.filter(|users| *users > 0)),
        }
    }

    fn budget(&self, all: &RequestCounts) -> Option<ErrorBudget> {
        let burn_rate = self.burn_rate(all)?;
        Some(ErrorBudget {
            left: 1.0 - burn_rate,
            burn_rate,
            burn_rate_of_worst_hour: self.worst_hour().unwrap_or(burn_rate),
        })
    }

    /// Bad over allowed, of several bounds the worst; `None` when nothing may be bad.
    fn burn_rate(&self, counts: &RequestCounts) -> Option<f64> {
        let total = counts.total as f64;
        let share =
            |bad: u64, allowed: f64| (allowed > 0.0).then(|| bad as f64 / (allowed * total));
        let of_errors = self.errors_max.and_then(|max| share(counts.failed, max));
        let of_latency = self
            .latency
            .iter()
            .zip(&counts.bad)
            .filter_map(|(bound, bad)| share(*bad, 1.0 - bound.quantile));
        of_errors
            .into_iter()
            .chain(of_latency)
            .filter(|_| counts.total > 0)
            .max_by(f64::total_cmp)
    }

    fn worst_hour(&self) -> Option<f64> {
        let slots: Vec<(i64, &RequestCounts)> = self
            .slots
            .iter()
            .map(|(key, slot)| (key * self.slot_s, &slot.requests))
            .collect();
        let mut hour = RequestCounts::default();
        let mut oldest = 0;
        let mut rates = Vec::with_capacity(slots.len());
        for (second, requests) in &slots {
            hour.merge(requests, 1);
            while slots[oldest].0 + BURN_WINDOW_S <= *second {
                hour.merge(slots[oldest].1, -1);
                oldest += 1;
            }
            rates.extend(self.burn_rate(&hour));
        }
        rates.into_iter().max_by(f64::total_cmp)
    }
}

#[cfg(test)]
mod tests;
