//! When the next request of a loop is due: by the schedule, or when a user is ready again.

mod changing_schedule;
mod people;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use plimsoll_model::plan::Load;
use plimsoll_model::seed::Seed;

use crate::clock::nanoseconds;
use crate::due::{NEVER, NOBODY, ScheduledArrival};
use crate::load_changes::LoadChange;
use changing_schedule::ChangingSchedule;

pub(crate) use people::{Newcomer, People};

/// Gap between the first requests of users without think time: 10,000 users start within half a second, and do
/// not overflow the target's backlog all at once.
const START_GAP_NS: u64 = 50_000;

/// Pause of a user whose connection could not be made, so that a refusing target does not make a loop spin.
pub(crate) const REFUSED_PAUSE_NS: u64 = 10_000_000;

/// The arrivals of one loop.
pub(crate) enum Scheduler {
    Open(OpenArrivals),
    Closed(Closed),
    /// Users of journeys.
    People(Box<People>),
    /// Handshakes of WebSockets.
    Opening(Opening),
}

/// Handshakes, evenly spaced, and the time for which what they opened is held.
pub(crate) struct Opening {
    next: u32,
    stride: u32,
    connections: u32,
    per_second: f64,
    start_ns: u64,
    end_ns: u64,
}

/// Arrivals of a schedule.
pub(crate) struct OpenArrivals {
    schedule: ChangingSchedule,
    end_ns: u64,
}

/// Users waiting for their responses.
pub(crate) struct Closed {
    think_ns: u64,
    end_ns: u64,
    /// Users before their first request, with its due time.
    fresh: VecDeque<ScheduledArrival>,
    /// Users whose next request is due at once.
    ready: VecDeque<ScheduledArrival>,
    /// Users who think, or pause after a failed connection.
    thinking: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Scheduler {
    /// Share `index` of `count` of a load that starts at `start_ns`; `sharing` users of a closed load share one connection.
    pub(crate) fn new(
        load: &Load,
        seed: Seed,
        start_ns: u64,
        (index, count): (u32, u32),
        sharing: u32,
    ) -> Self {
        let end_ns = start_ns.saturating_add(nanoseconds(load.lasting()));
        match load {
            Load::Open { phases, spacing } => {
                let share = (u64::from(index), u64::from(count));
                Self::Open(OpenArrivals {
                    schedule: ChangingSchedule::new(
                        phases.clone(),
                        *spacing,
                        seed,
                        start_ns,
                        share,
                    ),
                    end_ns,
                })
            }
            Load::Closed {
                connections, think, ..
            } => {
                let think_ns = nanoseconds(*think);
                // Thinking users start spread over one think time, or they would send in bursts for ever.
                let gap_ns = match think_ns {
                    0 => START_GAP_NS,
                    think_ns => think_ns / u64::from(connections * sharing).max(1),
                };
                // A loop has the users of its connections, so that each user has a slot.
                let fresh = (0..connections * sharing)
                    .filter(|user| user / sharing % count == index)
                    .zip(0..);
                let fresh: VecDeque<ScheduledArrival> = fresh
                    .map(|(among_all, user)| ScheduledArrival {
                        at: start_ns + u64::from(among_all) * gap_ns,
                        user,
                        paced: false,
                    })
                    .collect();
                Self::Closed(Closed {
                    think_ns,
                    end_ns,
                    ready: VecDeque::with_capacity(fresh.len()),
                    thinking: BinaryHeap::with_capacity(fresh.len()),
                    fresh,
                })
            }
            Load::WebSockets(load) => Self::Opening(Opening {
                next: index,
                stride: count,
                connections: load.connections,
                per_second: load.per_second,
                start_ns,
                end_ns,
            }),
            Load::Users { .. } | Load::Sessions { .. } => {
                unreachable!("made from a scenario, which has been checked")
            }
        }
    }

    /// Users of this loop.
    pub(crate) fn users(&self) -> usize {
        match self {
            Self::Open(_) | Self::People(_) | Self::Opening(_) => 0,
            Self::Closed(closed) => closed.fresh.len(),
        }
    }

    /// When the last request can be due.
    pub(crate) fn end_ns(&self) -> u64 {
        match self {
            Self::Open(open) => open.end_ns,
            Self::Closed(closed) => closed.end_ns,
            Self::People(people) => people.end_ns,
            Self::Opening(opening) => opening.end_ns,
        }
    }

    /// When the next request is due; [`NEVER`] when none is, as far as is known now.
    #[inline]
    pub(crate) fn next_due(&mut self) -> u64 {
        let due = match self {
            Self::Open(open) => open.next_due(),
            Self::Closed(closed) => closed.next().map_or(NEVER, |(due, _)| due),
            Self::People(people) => people.next_due(),
            Self::Opening(opening) => opening.next_due(),
        };
        if due > self.end_ns() { NEVER } else { due }
    }

    /// The next request, if it is due by `release`.
    #[inline]
    pub(crate) fn pop(&mut self, release: u64) -> Option<ScheduledArrival> {
        if self.next_due() > release {
            return None;
        }
        match self {
            Self::Open(open) => {
                let at = open.next_due();
                open.schedule.next();
                Some(ScheduledArrival {
                    at,
                    user: NOBODY,
                    paced: false,
                })
            }
            Self::Closed(closed) => closed.pop(),
            Self::People(people) => people.pop(),
            Self::Opening(opening) => {
                let at = opening.next_due();
                opening.next = opening.next.saturating_add(opening.stride);
                Some(ScheduledArrival {
                    at,
                    user: NOBODY,
                    paced: false,
                })
            }
        }
    }

    /// A user sends again at once.
    #[inline]
    pub(crate) fn pop_ready(&mut self) -> Option<ScheduledArrival> {
        match self {
            Self::Open(_) | Self::Opening(_) => None,
            Self::Closed(closed) => closed.ready.pop_front_if(|due| due.at < closed.end_ns),
            Self::People(people) => people.pop_ready(),
        }
    }

    /// A user's request has ended at `now`.
    #[inline]
    pub(crate) fn user_is_done(&mut self, user: u32, now: u64, unreachable: bool) {
        let Self::Closed(closed) = self else { return };
        let mut pause = closed.think_ns;
        if unreachable {
            pause = pause.max(REFUSED_PAUSE_NS);
        }
        if pause == 0 {
            closed.ready.push_back(ScheduledArrival {
                at: now,
                user,
                paced: false,
            });
        } else {
            closed.thinking.push(Reverse((now + pause, user)));
        }
    }

    /// The users of journeys, where there are any.
    pub(crate) fn people(&mut self) -> Option<&mut People> {
        match self {
            Self::People(people) => Some(people),
            Self::Open(_) | Self::Closed(_) | Self::Opening(_) => None,
        }
    }

    /// Another level from a moment on. A load that has no level stays as it is; nobody changes one.
    pub(crate) fn change(&mut self, change: LoadChange) {
        match self {
            Self::Open(open) => open.schedule.change(change, open.end_ns),
            Self::People(people) => people.change(change),
            Self::Closed(_) | Self::Opening(_) => {}
        }
    }

    /// Nothing is due after `moment`.
    pub(crate) fn cut(&mut self, moment: u64) {
        let end_ns = match self {
            Self::Open(open) => &mut open.end_ns,
            Self::Closed(closed) => &mut closed.end_ns,
            Self::People(people) => &mut people.end_ns,
            Self::Opening(opening) => &mut opening.end_ns,
        };
        *end_ns = moment.min(*end_ns);
    }
}

impl OpenArrivals {
    #[inline]
    fn next_due(&mut self) -> u64 {
        self.schedule.peek().unwrap_or(NEVER)
    }
}

impl Opening {
    fn next_due(&self) -> u64 {
        if self.next >= self.connections {
            return NEVER;
        }
        let after = Duration::try_from_secs_f64(f64::from(self.next) / self.per_second);
        let after_ns = nanoseconds(after.unwrap_or(Duration::MAX));
        self.start_ns.saturating_add(after_ns)
    }
}

/// Position of a closed load's next user.
#[derive(Clone, Copy)]
enum ClosedQueue {
    Fresh,
    Ready,
    Thinking,
}

impl Closed {
    #[inline]
    fn next(&self) -> Option<(u64, ClosedQueue)> {
        let ready = self.ready.front().map(|due| (due.at, ClosedQueue::Ready));
        let fresh = self.fresh.front().map(|due| (due.at, ClosedQueue::Fresh));
        let thinking = self
            .thinking
            .peek()
            .map(|next| (next.0.0, ClosedQueue::Thinking));
        [ready, fresh, thinking]
            .into_iter()
            .flatten()
            .min_by_key(|&(at, _)| at)
    }

    #[inline]
    fn pop(&mut self) -> Option<ScheduledArrival> {
        match self.next()?.1 {
            ClosedQueue::Fresh => self.fresh.pop_front(),
            ClosedQueue::Ready => self.ready.pop_front(),
            ClosedQueue::Thinking => {
                let Reverse((at, user)) = self.thinking.pop()?;
                Some(ScheduledArrival {
                    at,
                    user,
                    paced: false,
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(think: Duration) -> Scheduler {
        let load = Load::Closed {
            connections: 5,
            think,
            lasting: Duration::from_secs(1),
        };
        Scheduler::new(&load, Seed(1), 0, (1, 2), 1)
    }

    #[test]
    fn a_user_asks_again_after_thinking() {
        let mut source = closed(Duration::from_millis(100));
        assert_eq!(source.users(), 2);
        let first = source.pop(NEVER - 1).unwrap();
        assert_eq!(
            first,
            ScheduledArrival {
                at: 20_000_000,
                user: 0,
                paced: false,
            }
        );
        source.user_is_done(0, 30_000_000, false);
        assert_eq!(source.pop(100_000_000).unwrap().user, 1);
        assert_eq!(source.pop(100_000_000), None);
        assert_eq!(source.next_due(), 130_000_000);
    }

    #[test]
    fn a_user_without_connection_pauses() {
        let mut source = closed(Duration::ZERO);
        source.pop(1_000_000);
        source.pop(1_000_000);
        source.user_is_done(0, 1_000_000, true);
        source.user_is_done(1, 2_000_000, false);
        assert_eq!(
            source.pop(3_000_000),
            Some(ScheduledArrival {
                at: 2_000_000,
                user: 1,
                paced: false,
            })
        );
        assert_eq!(source.next_due(), 11_000_000);
    }

    #[test]
    fn nothing_is_due_after_a_cut() {
        let mut source = closed(Duration::ZERO);
        source.cut(60_000);
        assert!(source.pop(NEVER - 1).is_some());
        assert_eq!(source.next_due(), NEVER);
    }

    #[test]
    fn handshakes_are_due_evenly_and_are_all_there() {
        use plimsoll_model::websocket::WebSocketLoad;
        let load = Load::WebSockets(WebSocketLoad {
            connections: 7,
            per_second: 2000.0,
            hold: Duration::from_secs(1),
            message: None,
            timestamp: None,
            sequence: None,
            compress: false,
            is_stream: false,
            reconnect: None,
        });
        let mut all = Vec::new();
        for index in 0..2 {
            let mut source = Scheduler::new(&load, Seed(1), 1000, (index, 2), 1);
            assert_eq!(source.end_ns(), 1000 + 1_003_500_000);
            all.extend(std::iter::from_fn(|| source.pop(NEVER - 1)).map(|due| due.at));
            assert_eq!(source.next_due(), NEVER);
        }
        all.sort_unstable();
        let expected: Vec<u64> = (0..7).map(|number| 1000 + number * 500_000).collect();
        assert_eq!(all, expected);
    }

    /// Due times of all loops of so many workers, in order.
    fn of_workers(load: &Load, seed: u64, workers: u32, loops: u32) -> Vec<u64> {
        use crate::loop_share::LoopShare;
        let mut all = Vec::new();
        for worker in 0..workers {
            for index in LoopShare::of_process(worker, workers).loops(loops) {
                let mut source = Scheduler::new(load, Seed(seed), 500, (index, loops), 1);
                all.extend(std::iter::from_fn(|| source.pop(NEVER - 1)).map(|due| due.at));
            }
        }
        all.sort_unstable();
        all
    }

    proptest::proptest! {
        #[test]
        fn the_parts_of_workers_are_the_whole_load(
            rates in proptest::collection::vec((0.0_f64..400.0, 0.0_f64..400.0), 1..4),
            seed: u64,
            workers in 1_u32..5,
            each in 1_u32..4,
            connections in 1_u32..50,
        ) {
            use plimsoll_model::schedule::{LoadPhase, Spacing};
            let phases: Vec<LoadPhase> = rates
                .iter()
                .map(|&(from, to)| LoadPhase::ramp(from, to, Duration::from_secs(2)))
                .collect();
            let loops = workers * each;
            let even = Load::Open { phases: phases.clone(), spacing: Spacing::Even };
            // Evenly spaced arrivals do not depend on the number of loops.
            proptest::prop_assert_eq!(
                of_workers(&even, seed, workers, loops),
                of_workers(&even, seed, 1, 1)
            );
            // Random ones are those of a process with as many loops.
            let poisson = Load::Open { phases, spacing: Spacing::Poisson };
            proptest::prop_assert_eq!(
                of_workers(&poisson, seed, workers, loops),
                of_workers(&poisson, seed, 1, loops)
            );
            let closed = Load::Closed {
                connections,
                think: Duration::from_millis(10),
                lasting: Duration::from_secs(1),
            };
            proptest::prop_assert_eq!(
                of_workers(&closed, seed, workers, loops),
                of_workers(&closed, seed, 1, 1)
            );
        }
    }
}
