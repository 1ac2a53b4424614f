//! Availability of a service by what its users met: nines, incidents, reliability, error budget.
//!
//! Time is cut into slots; a slot in which at least half of the requests failed is down. Availability is (service − down) /
//! service over the slots with requests: where nobody asked, nothing is known. Between two slots that are down and have no
//! other between them, the service is down too: a server that is gone logs nothing. Where the service was watched, a second in
//! which its listener is gone and nobody was answered is down as well.
//!
//! A success is an answer that the client asked for: a rightful 404 is one, an answer later than the longest bound of the objective is
//! not. The error budget is what the objective allows to be bad (Site Reliability Engineering, 2016; burn rate as in The Site
//! Reliability Workbook, 2018, chapter 5).

mod slot;
mod watched;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use plimsoll_model::objective::{LatencyBound, Objective};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::run::Run;
use plimsoll_model::window::Window;

use slot::{RequestCounts, SLOT_MAX_S, Slot, Stretch};

pub use watched::{RequestCounter, WatchedSecond, WatchedService};

/// Slots at most: two years of minutes, or twelve days of seconds.
pub const SLOTS_MAX: usize = 1_051_200;
/// Clients of failed requests that are told apart, over all slots.
const CLIENTS_MAX: usize = 1_000_000;
/// Seconds at each end of a stretch without a listener in which it may still have answered: readings and logs cut seconds
/// at different moments.
const LISTENER_EDGE_S: i64 = 2;
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

/// A stretch without a listener.
#[derive(Clone, Debug, Default)]
struct GoneListener {
    seconds: Range<i64>,
    /// Seconds in which a request succeeded all the same.
    answered: Vec<i64>,
}

impl GoneListener {
    /// Its seconds, if something else answered in them.
    fn answered_elsewhere(&self) -> Option<Range<i64>> {
        let inner = self.seconds.start + LISTENER_EDGE_S..self.seconds.end - LISTENER_EDGE_S;
        let is_inside = |at: &i64| inner.contains(at);
        (self.answered.iter().any(is_inside)).then(|| self.seconds.clone())
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
    /// Time with requests, or in which the service was watched, s.
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

    /// Share of requests that succeeded in time; `None` where none was counted.
    pub fn reliability(&self) -> Option<f64> {
        let good = self.requests - self.failed - self.late;
        (self.requests > 0).then(|| good as f64 / self.requests as f64)
    }
}

impl AvailabilityCounter {
    /// Slots of `slot_s` seconds, judged by an objective, if there is one.
    ///
    /// # Panics
    /// When `slot_s` is not 1 to 60.
    pub fn new(slot_s: i64, objective: Option<&Objective>) -> Self {
        assert!((1..=SLOT_MAX_S).contains(&slot_s), "slots of {slot_s} s");
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
            let (slot, second) = self.slot(began_s.saturating_add(window.second.into()))?;
            slot.sent.merge(&requests, 1);
            slot.users = slot.users.max(window.users);
            if requests.failed < requests.total {
                slot.note_answer(second);
            }
        }
        Ok(())
    }

    /// Adds what was seen of the service in a second of readings that began at this second since 1970.
    ///
    /// # Errors
    /// When there are too many slots.
    pub fn add_watched(
        &mut self,
        observed: WatchedSecond,
        began_s: i64,
    ) -> Result<(), TooManySlots> {
        if observed.is_listening.is_none() && observed.requests == 0 {
            return Ok(());
        }
        let requests = RequestCounts {
            total: observed.requests,
            failed: observed.failed,
            late: 0,
            bad: vec![observed.failed; self.latency.len()],
        };
        let (slot, second) = self.slot(began_s.saturating_add(observed.second.into()))?;
        slot.counted.merge(&requests, 1);
        if observed.failed < observed.requests {
            slot.note_answer(second);
        }
        if let Some(is_listening) = observed.is_listening {
            slot.note_listener(second, is_listening);
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
        let (slot, second) = self.slot(request.ended_s)?;
        slot.sent.merge(&requests, 1);
        if request.is_good {
            slot.note_answer(second);
        }
        let client = request.client.filter(|_| !request.is_good && has_room);
        if client.is_some_and(|client| slot.clients.insert(client)) {
            self.clients += 1;
        }
        Ok(())
    }

    fn longest_us(&self) -> Option<u64> {
        self.latency.iter().map(|bound| bound.within_us).max()
    }

    /// The slot of a second since 1970, and the second in it.
    fn slot(&mut self, second: i64) -> Result<(&mut Slot, i64), TooManySlots> {
        let key = second.div_euclid(self.slot_s);
        if self.slots.len() >= SLOTS_MAX && !self.slots.contains_key(&key) {
            return Err(TooManySlots);
        }
        let slot = self.slots.entry(key).or_default();
        Ok((slot, second.rem_euclid(self.slot_s)))
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

    /// The availability; `None` where nothing is known.
    pub fn finish(mut self) -> Option<Availability> {
        self.forget_listeners_of_others();
        let mut all = RequestCounts::default();
        for slot in self.slots.values() {
            all.merge(slot.requests(), 1);
        }
        let stretches = self.stretches();
        let ((_, first), (_, last)) = (stretches.first()?, stretches.last()?);
        let (from_s, until_s) = (first.began_s, last.began_s + last.lasted_s);
        let up = stretches.iter().filter(|(_, stretch)| !stretch.is_down);
        let up_s: i64 = up.map(|(_, stretch)| stretch.lasted_s).sum();
        let down = stretches.chunk_by(|a, b| a.1.is_down == b.1.is_down);
        let down = down.filter(|stretches| stretches[0].1.is_down);
        let incidents: Vec<Incident> = down.map(|stretches| self.incident(stretches)).collect();
        let down_s = incidents.iter().map(|incident| incident.lasted_s).sum();
        Some(Availability {
            slot_s: self.slot_s,
            from_s,
            until_s,
            service_s: up_s + down_s,
            down_s,
            incidents,
            requests: all.total,
            failed: all.failed,
            late: all.late,
            budget: self.budget(&all),
        })
    }

    /// A request that succeeds while the listener is gone was answered elsewhere: the service is there without it, for as
    /// long as it is gone. Not so in the seconds in which it goes and comes.
    fn forget_listeners_of_others(&mut self) {
        let mut gone = GoneListener::default();
        let mut answered_elsewhere: Vec<Range<i64>> = Vec::new();
        for (key, slot) in self.slots.iter().filter(|(_, slot)| slot.has_gone()) {
            for second in 0..self.slot_s {
                let at = key * self.slot_s + second;
                let (is_gone, is_answered) = slot.second(second);
                if !is_gone || gone.seconds.end != at {
                    answered_elsewhere.extend(gone.answered_elsewhere());
                    gone = GoneListener {
                        seconds: at..at,
                        answered: Vec::new(),
                    };
                }
                if is_gone {
                    gone.seconds.end = at + 1;
                    gone.answered.extend(is_answered.then_some(at));
                }
            }
        }
        answered_elsewhere.extend(gone.answered_elsewhere());
        for at in answered_elsewhere.into_iter().flatten() {
            if let Some(slot) = self.slots.get_mut(&at.div_euclid(self.slot_s)) {
                slot.forget_gone(at.rem_euclid(self.slot_s));
            }
        }
    }

    /// All stretches in order, each with the key of its slot.
    fn stretches(&self) -> Vec<(i64, Stretch)> {
        let slots = self.slots.iter();
        let stretches = slots.flat_map(|(key, slot)| {
            let stretches = slot.stretches(key * self.slot_s, self.slot_s);
            stretches.into_iter().map(|stretch| (*key, stretch))
        });
        stretches.collect()
    }

    /// Stretches that are down, with no other between them.
    fn incident(&self, stretches: &[(i64, Stretch)]) -> Incident {
        let keys: BTreeSet<i64> = stretches.iter().map(|(key, _)| *key).collect();
        let slots: Vec<&Slot> = keys.iter().filter_map(|key| self.slots.get(key)).collect();
        let clients: BTreeSet<u64> = slots
            .iter()
            .flat_map(|slot| &slot.clients)
            .copied()
            .collect();
        let virtual_users = slots.iter().map(|slot| slot.users).max();
        // Where there was no room for all clients, their number is not known.
        let clients = (self.clients < CLIENTS_MAX).then_some(clients.len() as u64);
        let (first, last) = (stretches[0].1, stretches[stretches.len() - 1].1);
        Incident {
            began_s: first.began_s,
            lasted_s: last.began_s + last.lasted_s - first.began_s,
            failed: slots.iter().map(|slot| slot.requests().failed).sum(),
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
            .map(|(key, slot)| (key * self.slot_s, slot.requests()))
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
