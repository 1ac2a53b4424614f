//! Users of journeys: when each arrives, how long each thinks, and which users leave.
//!
//! Concurrent users have places, numbered from 1: the user at place g is wanted while the number of users is at least
//! g. Places are split over loops by stride, and the journey at a place follows from its number, so that loops agree
//! without communication.

mod places;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};

use plimsoll_model::journey::Scenario;
use plimsoll_model::plan::Load;
use plimsoll_model::seed::Seed;

use super::changing_schedule::ChangingSchedule;
use crate::clock::nanoseconds;
use crate::due::{NEVER, NEWCOMER, ScheduledArrival};
use crate::load_changes::LoadChange;
use crate::scenario::mix::{JourneySequence, Mix};

use places::{Places, RampSegment};

/// Label of the choice of journeys among the seeds derived from a trial's.
const MIX_LABEL: u64 = 0x006d_6978;

/// A new user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Newcomer {
    /// Among all users of all loops, from 1.
    pub(crate) number: u64,
    /// From 1; 0 without one.
    pub(crate) place: u64,
    pub(crate) journey: u32,
}

/// The users of one loop.
pub(crate) struct People {
    pub(super) end_ns: u64,
    comes: Comes,
    /// The next to arrive, once known.
    next: Option<(u64, Newcomer)>,
    count: u64,
    /// Numbers of carried-over users.
    known: HashSet<u64>,
    index: u64,
    loops: u64,
    ready: VecDeque<ScheduledArrival>,
    thinking: BinaryHeap<Reverse<(u64, u32)>>,
}

/// The source of arrivals.
enum Comes {
    Places(Places),
    Sessions {
        schedule: Box<ChangingSchedule>,
        start_ns: u64,
        /// The journeys' own mix, then those of phases with a mix.
        sequences: Vec<JourneySequence>,
        /// Ends of the phases, ns from the start, each with the index of its turns.
        ends: Vec<(u64, usize)>,
    },
}

impl People {
    /// Share `index` of `loops` of a load that starts at `start_ns`; `None` when a mix has no weights.
    pub(crate) fn new(
        load: &Load,
        scenario: &Scenario,
        seed: Seed,
        start_ns: u64,
        index: u32,
        loops: u32,
    ) -> Option<Self> {
        let weights: Vec<f64> = scenario
            .journeys
            .iter()
            .map(|journey| journey.weight)
            .collect();
        // The sequence is the same in all loops, and each loop takes its share.
        let new_sequence = |weights: &[f64]| JourneySequence::new(weights, seed.derive(MIX_LABEL));
        let comes = match load {
            Load::Users { phases, .. } => {
                let mut mixes = vec![Mix::new(new_sequence(&weights)?)];
                let mut spans = Vec::with_capacity(phases.len());
                let mut at = start_ns;
                for phase in phases {
                    let end_ns = at.saturating_add(nanoseconds(phase.lasting));
                    spans.push(RampSegment::new(phase, at, end_ns, mixes.len()));
                    if !phase.mix.is_empty() {
                        mixes.push(Mix::new(new_sequence(&phase.mix)?));
                    }
                    at = end_ns;
                }
                Comes::Places(Places::new(spans, mixes, index, start_ns))
            }
            Load::Sessions {
                phases,
                spacing,
                mixes,
            } => {
                let (share, shares) = (u64::from(index), u64::from(loops));
                let schedule = ChangingSchedule::new(
                    phases.clone(),
                    *spacing,
                    seed,
                    start_ns,
                    (share, shares),
                );
                let mut all = vec![new_sequence(&weights)?];
                let mut ends = Vec::new();
                let mut end_ns = 0_u64;
                for (place, phase) in phases.iter().enumerate() {
                    let mix = mixes.get(place).filter(|mix| !mix.is_empty());
                    if let Some(mix) = mix {
                        all.push(new_sequence(mix)?);
                    }
                    end_ns = end_ns.saturating_add(phase.lasting_ns);
                    ends.push((end_ns, mix.map_or(0, |_| all.len() - 1)));
                }
                // Up to this loop's first.
                for sequence in &mut all {
                    sequence.skip(share);
                }
                Comes::Sessions {
                    schedule: Box::new(schedule),
                    start_ns,
                    sequences: all,
                    ends,
                }
            }
            Load::Open { .. } | Load::Closed { .. } | Load::WebSockets(_) => return None,
        };
        Some(Self {
            end_ns: start_ns.saturating_add(nanoseconds(load.lasting())),
            comes,
            next: None,
            count: 0,
            known: HashSet::new(),
            index: u64::from(index),
            loops: u64::from(loops),
            ready: VecDeque::new(),
            thinking: BinaryHeap::new(),
        })
    }

    /// When the next user arrives, [`NEVER`] when none will.
    pub(crate) fn next_comes(&mut self) -> u64 {
        if self.next.is_none() {
            self.next = self.find_next();
        }
        self.next.map_or(NEVER, |(at, _)| at)
    }

    fn find_next(&mut self) -> Option<(u64, Newcomer)> {
        let number = |count| self.index + 1 + count * self.loops;
        while self.known.contains(&number(self.count)) {
            self.count += 1;
        }
        let number = number(self.count);
        match &mut self.comes {
            Comes::Places(places) => {
                let (at, place) = places.next(self.loops)?;
                let journey = places.journey(place, at);
                Some((
                    at,
                    Newcomer {
                        number,
                        place,
                        journey,
                    },
                ))
            }
            Comes::Sessions {
                schedule,
                start_ns,
                sequences,
                ends,
            } => {
                let at = schedule.next()?;
                let due_ns = at - *start_ns;
                let phase = ends.partition_point(|(end_ns, _)| *end_ns <= due_ns);
                let sequence = &mut sequences[ends.get(phase).map_or(0, |(_, index)| *index)];
                let journey = sequence.next();
                sequence.skip(self.loops - 1);
                Some((
                    at,
                    Newcomer {
                        number,
                        place: 0,
                        journey,
                    },
                ))
            }
        }
    }

    /// Another number of users, or of arrivals per second, from a moment that is not over on. The mix of journeys stays the
    /// one of that moment.
    pub(super) fn change(&mut self, change: LoadChange) {
        match &mut self.comes {
            Comes::Places(places) => {
                places.change(change, self.end_ns);
                // Found again on the new line.
                self.next = None;
            }
            Comes::Sessions {
                schedule,
                start_ns,
                ends,
                ..
            } => {
                let from_ns = change.from_ns.saturating_sub(*start_ns);
                let phase = ends.partition_point(|(end_ns, _)| *end_ns <= from_ns);
                let mix = ends.get(phase).map_or(0, |(_, mix)| *mix);
                ends.truncate(phase);
                ends.push((from_ns, mix));
                ends.push((self.end_ns.saturating_sub(*start_ns), mix));
                schedule.change(change, self.end_ns);
                // A user who was to come later comes when the new rate says, with the journey that was drawn already.
                if let Some((_, newcomer)) = self.next.take_if(|(at, _)| *at >= change.from_ns) {
                    self.next = schedule.next().map(|at| (at, newcomer));
                }
            }
        }
    }

    /// Admits the next user.
    pub(crate) fn welcome(&mut self) -> Option<Newcomer> {
        let (at, newcomer) = self.next.take()?;
        self.count += 1;
        if let Comes::Places(places) = &mut self.comes {
            places.take(newcomer.place, at, self.loops);
        }
        Some(newcomer)
    }

    /// Whether a user is still wanted where it is at `now`.
    pub(crate) fn wants(&mut self, place: u64, journey: u32, now: u64) -> bool {
        match &mut self.comes {
            Comes::Sessions { .. } => true,
            Comes::Places(places) => {
                places.wants(place, now) && places.journey(place, now) == journey
            }
        }
    }

    /// A user has left its place, which may be reassigned from `now` on.
    pub(crate) fn vacate(&mut self, place: u64, now: u64) {
        if let Comes::Places(places) = &mut self.comes {
            places.vacate(place, now);
            self.next = None;
        }
    }

    /// The journey of the user wanted at a place from the start on.
    pub(crate) fn journey_at_start(&mut self, place: u64, start_ns: u64) -> Option<u32> {
        let Comes::Places(places) = &mut self.comes else {
            return None;
        };
        places
            .wants(place, start_ns)
            .then(|| places.journey(place, start_ns))
    }

    /// Places wanted at the start are taken by carried-over users, `taken`, and by new users, who arrive evenly
    /// within a time. Numbers of `known` users are not given to new users.
    pub(crate) fn expect(
        &mut self,
        start_ns: u64,
        within_ns: u64,
        taken: &HashSet<u64>,
        known: HashSet<u64>,
    ) {
        let Comes::Places(places) = &mut self.comes else {
            return;
        };
        let free = places.free_at(start_ns, taken, self.loops);
        let count = free.len() as f64;
        let offset = (self.index + 1) as f64 / self.loops as f64;
        for (rank, place) in free.into_iter().enumerate() {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share of a time, from 0 to 1"
            )]
            let after_ns = (within_ns as f64 * (rank as f64 + offset) / count) as u64;
            places.expect(place, start_ns + after_ns);
        }
        self.known = known;
        self.next = None;
    }

    /// Remaining think times at a moment, ns, by user.
    pub(crate) fn pauses(&self, now: u64) -> HashMap<u32, u64> {
        let thinking = self.thinking.iter();
        thinking
            .map(|Reverse((until, user))| (*user, until.saturating_sub(now)))
            .collect()
    }

    /// Whether no user will arrive any more, and users arrive by places.
    pub(crate) fn is_over(&mut self) -> bool {
        matches!(self.comes, Comes::Places(_)) && self.next_comes() >= self.end_ns
    }

    /// A user continues at a moment, at once or after thinking.
    #[inline]
    pub(crate) fn think(&mut self, user: u32, until: u64) {
        self.thinking.push(Reverse((until, user)));
    }

    /// A user's response has arrived, and it continues.
    #[inline]
    pub(crate) fn be_ready(&mut self, user: u32, now: u64) {
        self.ready.push_back(ScheduledArrival {
            at: now,
            user,
            paced: false,
        });
    }

    /// When the next pause ends. Pauses end at whole milliseconds, as loads do: a user who would continue at the end of
    /// the load itself is no longer due.
    #[inline]
    fn next_thinking(&self) -> u64 {
        let next = self.thinking.peek().map(|next| next.0.0);
        next.filter(|at| *at < self.end_ns).unwrap_or(NEVER)
    }

    #[inline]
    pub(crate) fn next_due(&mut self) -> u64 {
        let ready = self.ready.front().map_or(NEVER, |due| due.at);
        let thinking = self.next_thinking();
        ready.min(thinking).min(self.next_comes())
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<ScheduledArrival> {
        let ready = self.ready.front().map_or(NEVER, |due| due.at);
        let thinking = self.next_thinking();
        let comes = self.next_comes();
        if ready <= thinking && ready <= comes {
            return self.ready.pop_front();
        }
        if thinking <= comes {
            let Reverse((at, user)) = self.thinking.pop()?;
            return Some(ScheduledArrival {
                at,
                user,
                paced: true,
            });
        }
        Some(ScheduledArrival {
            at: comes,
            user: NEWCOMER,
            paced: true,
        })
    }

    #[inline]
    pub(super) fn pop_ready(&mut self) -> Option<ScheduledArrival> {
        let end_ns = self.end_ns;
        self.ready.pop_front_if(|due| due.at < end_ns)
    }
}

#[cfg(test)]
mod tests;
