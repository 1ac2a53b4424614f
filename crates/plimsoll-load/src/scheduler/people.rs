//! Users of journeys: when each arrives, how long each thinks, and which users leave.
//!
//! Concurrent users have places, numbered from 1: the user at place g is wanted while the number of users is at least
//! g. Places are split over loops by stride, and the journey at a place follows from its number, so that loops agree
//! without communication.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::iter::Peekable;

use plimsoll_model::journey::{Scenario, UserPhase};
use plimsoll_model::plan::Load;
use plimsoll_model::schedule::Schedule;
use plimsoll_model::seed::Seed;

use super::START_GAP_NS;
use crate::clock::nanoseconds;
use crate::due::{NEVER, NEWCOMER, ScheduledArrival};
use crate::scenario::mix::{JourneySequence, Mix};

/// Label of the choice of journeys among the seeds derived from a trial's.
const MIX_LABEL: u64 = 0x006d_6978;

/// A number of users this close below a place fills it: floating-point ramps are not exact.
const CLOSE: f64 = 1e-9;

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
        schedule: Box<Peekable<Schedule>>,
        start_ns: u64,
        /// The journeys' own mix, then those of phases with a mix.
        sequences: Vec<JourneySequence>,
        /// Ends of the phases, ns from the start, each with the index of its turns.
        ends: Vec<(u64, usize)>,
    },
}

/// The wanted number of users over time.
struct Places {
    spans: Vec<RampSegment>,
    mixes: Vec<Mix>,
    /// Lowest place never taken yet.
    fresh: u64,
    /// Vacant places, lowest first.
    free: BinaryHeap<Reverse<u64>>,
    /// When the last user arrived.
    last_ns: u64,
    /// Earliest arrival of a user.
    now_ns: u64,
    /// Places with a given first arrival, and its time.
    expected: VecDeque<(u64, u64)>,
}

/// A linear segment.
struct RampSegment {
    from: f64,
    to: f64,
    start_ns: u64,
    end_ns: u64,
    /// Index of its mix.
    mix: usize,
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
                Comes::Places(Places {
                    spans,
                    mixes,
                    fresh: u64::from(index) + 1,
                    free: BinaryHeap::new(),
                    last_ns: 0,
                    now_ns: start_ns,
                    expected: VecDeque::new(),
                })
            }
            Load::Sessions {
                phases,
                spacing,
                mixes,
            } => {
                let (share, shares) = (u64::from(index), u64::from(loops));
                let schedule = Schedule::segment(phases.clone(), *spacing, seed, share, shares);
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
                    schedule: Box::new(schedule.peekable()),
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
                let arrival = schedule.next()?;
                let phase = ends.partition_point(|(end_ns, _)| *end_ns <= arrival.due_ns);
                let sequence = &mut sequences[ends.get(phase).map_or(0, |(_, index)| *index)];
                let journey = sequence.next();
                sequence.skip(self.loops - 1);
                Some((
                    *start_ns + arrival.due_ns,
                    Newcomer {
                        number,
                        place: 0,
                        journey,
                    },
                ))
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
                places.desired_users(now) + CLOSE >= place as f64
                    && places.journey(place, now) == journey
            }
        }
    }

    /// A user has left its place, which may be reassigned from `now` on.
    pub(crate) fn vacate(&mut self, place: u64, now: u64) {
        if let Comes::Places(places) = &mut self.comes {
            places.free.push(Reverse(place));
            places.now_ns = places.now_ns.max(now);
            self.next = None;
        }
    }

    /// The journey of the user wanted at a place from the start on.
    pub(crate) fn journey_at_start(&mut self, place: u64, start_ns: u64) -> Option<u32> {
        let Comes::Places(places) = &mut self.comes else {
            return None;
        };
        let is_wanted = places.desired_users(start_ns) + CLOSE >= place as f64;
        is_wanted.then(|| places.journey(place, start_ns))
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
        let wanted = places.desired_users(start_ns) + CLOSE;
        let mut free = Vec::new();
        while places.fresh as f64 <= wanted {
            if !taken.contains(&places.fresh) {
                free.push(places.fresh);
            }
            places.fresh += self.loops;
        }
        let count = free.len() as f64;
        let offset = (self.index + 1) as f64 / self.loops as f64;
        for (rank, place) in free.into_iter().enumerate() {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share of a time, from 0 to 1"
            )]
            let after_ns = (within_ns as f64 * (rank as f64 + offset) / count) as u64;
            places.expected.push_back((start_ns + after_ns, place));
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

impl RampSegment {
    fn new(phase: &UserPhase, start_ns: u64, end_ns: u64, mixes: usize) -> Self {
        Self {
            from: phase.from,
            to: phase.to,
            start_ns,
            end_ns,
            mix: if phase.mix.is_empty() { 0 } else { mixes },
        }
    }

    fn at(&self, moment: u64) -> f64 {
        let length = (self.end_ns - self.start_ns).max(1) as f64;
        let share = (moment.saturating_sub(self.start_ns) as f64 / length).clamp(0.0, 1.0);
        (self.to - self.from).mul_add(share, self.from)
    }

    /// The first moment from `from_ns` on at which a place is wanted.
    fn reaches(&self, place: f64, from_ns: u64) -> Option<u64> {
        let from_ns = from_ns.max(self.start_ns);
        if from_ns >= self.end_ns {
            return None;
        }
        if self.at(from_ns) + CLOSE >= place {
            return Some(from_ns);
        }
        if self.to + CLOSE < place {
            return None;
        }
        // The line rises to the place: it is below now, and not at its end.
        let share = (place - self.from) / (self.to - self.from);
        let length = (self.end_ns - self.start_ns) as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a span, from 0 to 1"
        )]
        let moment = self.start_ns + (share.clamp(0.0, 1.0) * length).ceil() as u64;
        (moment < self.end_ns).then_some(moment.max(from_ns))
    }
}

impl Places {
    fn span(&self, moment: u64) -> Option<&RampSegment> {
        let index = self.spans.partition_point(|span| span.end_ns <= moment);
        self.spans.get(index).or(self.spans.last())
    }

    /// Users wanted at a moment.
    fn desired_users(&self, moment: u64) -> f64 {
        self.span(moment).map_or(0.0, |span| span.at(moment))
    }

    fn journey(&mut self, place: u64, moment: u64) -> u32 {
        let mix = self.span(moment).map_or(0, |span| span.mix);
        self.mixes[mix].at(place)
    }

    /// The lowest free place, and when it is wanted.
    fn next(&self, loops: u64) -> Option<(u64, u64)> {
        let next = self.next_by_line(loops);
        let Some(&(at, place)) = self.expected.front() else {
            return next;
        };
        let expected = (self.staggered(at.max(self.now_ns)), place);
        Some(next.map_or(expected, |next| next.min(expected)))
    }

    /// Users who arrive together are staggered, so that they do not overflow the target's backlog.
    fn staggered(&self, wanted: u64) -> u64 {
        let after = self.last_ns.saturating_add(START_GAP_NS);
        if self.last_ns > 0 {
            wanted.max(after)
        } else {
            wanted
        }
    }

    fn next_by_line(&self, loops: u64) -> Option<(u64, u64)> {
        let free = self.free.peek().map_or(NEVER, |place| place.0);
        let place = self.fresh.min(free);
        debug_assert!(loops > 0, "somebody carries the load out");
        let wanted = self
            .spans
            .iter()
            .find_map(|span| span.reaches(place as f64, self.now_ns))?;
        Some((self.staggered(wanted), place))
    }

    fn take(&mut self, place: u64, at: u64, loops: u64) {
        if self.expected.front().is_some_and(|next| next.1 == place) {
            self.expected.pop_front();
        } else if place == self.fresh {
            self.fresh += loops;
        } else {
            self.free.pop();
        }
        self.last_ns = at.max(1);
        self.now_ns = self.now_ns.max(at);
    }
}

#[cfg(test)]
mod tests;
