//! Queue of requests that wait for a server, and how long waiting makes sense.
//!
//! Pure: time is passed in as numbers, and the waiting item is any `T`. Higher classes go first, within a class first
//! in, first out. A request that cannot be served in time is rejected on arrival, because a rejection after half a
//! second of waiting is worse than an immediate one. A configured bound limits the length; without one the queue learns
//! how fast it drains, and once a wait has been standing for an interval, only as many may wait as two targets allow.

use std::collections::VecDeque;

use plimsoll_config::edge::Class;
use plimsoll_net::clock::Nanoseconds;

/// A standing queue is one whose minimum wait over this interval was above the target.
const INTERVAL_NS: u64 = 100_000_000;
/// Bounds of the target wait, ns.
const TARGET_NS: (u64, u64) = (5_000_000, 50_000_000);
/// Maximum length of a queue without a configured bound.
const LEARNT_MAX: usize = 10_000;
/// Weight of the latest gap between two departures.
const GAP_WEIGHT: f64 = 0.05;

/// Share of the queue that each class may fill; the first class is the last to be rejected.
pub(crate) const SHARES: [f64; 4] = [1.0, 0.95, 0.8, 0.6];

/// Why a request may not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueRejection {
    /// The queue is full.
    Full,
    /// The wait would be too long, or other classes go first.
    Shed,
}

/// Rules of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Maximum length; `None` adapts.
    pub len_max: Option<u32>,
    /// Longest wait.
    pub timeout: Nanoseconds,
    /// Time limit of the whole response.
    pub(crate) objective: Nanoseconds,
}

#[derive(Debug)]
pub(crate) struct RequestQueue<T> {
    rules: Rules,
    classes: [VecDeque<(T, Nanoseconds)>; 4],
    /// Mean gap between two departures while others wait, ns; 0 is unknown.
    gap: f64,
    left_at: Nanoseconds,
    /// Minimum wait of the current interval.
    wait_min: Nanoseconds,
    interval_since: Nanoseconds,
    standing: bool,
}

impl<T> RequestQueue<T> {
    pub(crate) fn new(rules: Rules) -> Self {
        Self {
            rules,
            classes: [const { VecDeque::new() }; 4],
            gap: 0.0,
            left_at: 0,
            wait_min: Nanoseconds::MAX,
            interval_since: 0,
            standing: false,
        }
    }

    /// Applies new rules; waiting items stay.
    pub(crate) fn follow(&mut self, rules: Rules) {
        self.rules = rules;
    }

    pub(crate) fn len(&self) -> usize {
        self.classes.iter().map(VecDeque::len).sum()
    }

    /// Whether a request of this class may wait.
    pub(crate) fn offer(&self, class: Class) -> Result<(), QueueRejection> {
        let len = self.len();
        let share = SHARES[class as usize];
        if let Some(most) = self.rules.len_max {
            if len >= most as usize {
                return Err(QueueRejection::Full);
            }
            // In a short queue every class may use one slot.
            return if len as f64 >= (f64::from(most) * share).ceil() {
                Err(QueueRejection::Shed)
            } else {
                Ok(())
            };
        }
        if len >= LEARNT_MAX {
            return Err(QueueRejection::Full);
        }
        let longest = if self.standing {
            (2 * self.target()).min(self.rules.timeout)
        } else {
            self.rules.timeout
        };
        if self.gap > 0.0 && (len + 1) as f64 * self.gap > longest as f64 * share {
            return Err(QueueRejection::Shed);
        }
        Ok(())
    }

    /// Adds an item that [`RequestQueue::offer`] accepted.
    pub(crate) fn push(&mut self, waiting: T, class: Class, now: Nanoseconds) {
        if self.len() == 0 {
            // The gap since the last departure was not caused by a busy server.
            self.left_at = now;
            self.interval_since = now;
            self.wait_min = Nanoseconds::MAX;
        }
        self.classes[class as usize].push_back((waiting, now));
    }

    /// The next item.
    pub(crate) fn pop(&mut self, now: Nanoseconds) -> Option<T> {
        let (waiting, since) = self.classes.iter_mut().find_map(VecDeque::pop_front)?;
        let gap = now.saturating_sub(self.left_at) as f64;
        self.gap = if self.gap == 0.0 {
            gap
        } else {
            self.gap + GAP_WEIGHT * (gap - self.gap)
        };
        self.left_at = now;
        self.wait_min = self.wait_min.min(now.saturating_sub(since));
        if now.saturating_sub(self.interval_since) >= INTERVAL_NS {
            self.standing = self.wait_min > self.target();
            self.wait_min = Nanoseconds::MAX;
            self.interval_since = now;
        }
        if self.len() == 0 {
            self.standing = false;
        }
        Some(waiting)
    }

    /// Removes items that gave up.
    pub(crate) fn retain(&mut self, stays: impl Fn(&T) -> bool) {
        for class in &mut self.classes {
            class.retain(|(waiting, _)| stays(waiting));
        }
    }

    fn target(&self) -> Nanoseconds {
        (self.rules.objective / 10).clamp(TARGET_NS.0, TARGET_NS.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn queue(len_max: Option<u32>) -> RequestQueue<u32> {
        RequestQueue::new(Rules {
            len_max,
            timeout: 500 * MS,
            objective: 500 * MS,
        })
    }

    #[test]
    fn who_matters_more_goes_first_and_may_wait_longer() {
        let mut queue = queue(Some(10));
        for (who, class) in [
            (1, Class::Sheddable),
            (2, Class::Critical),
            (3, Class::Critical),
            (4, Class::CriticalPlus),
            (5, Class::Sheddable),
            (6, Class::Critical),
        ] {
            assert_eq!(queue.offer(class), Ok(()));
            queue.push(who, class, 0);
        }
        assert_eq!(queue.offer(Class::Sheddable), Err(QueueRejection::Shed));
        assert_eq!(queue.offer(Class::SheddablePlus), Ok(()));
        for who in 7..11 {
            queue.push(who, Class::CriticalPlus, 0);
        }
        assert_eq!(queue.offer(Class::CriticalPlus), Err(QueueRejection::Full));
        let order: Vec<u32> = std::iter::from_fn(|| queue.pop(MS)).collect();
        assert_eq!(order, [4, 7, 8, 9, 10, 2, 3, 6, 1, 5]);
    }

    /// Ten arrivals per departure, every 10 ms: waits of the departures, ms, and the number of rejections.
    fn overload(mut queue: RequestQueue<u32>, seconds: u64) -> (Vec<u64>, u64) {
        let (mut waits, mut refused) = (Vec::new(), 0);
        let mut came = std::collections::HashMap::new();
        let mut who = 0;
        for now in 0..seconds * 1000 {
            who += 1;
            match queue.offer(Class::Critical) {
                Ok(()) => {
                    queue.push(who, Class::Critical, now * MS);
                    came.insert(who, now);
                }
                Err(_) => refused += 1,
            }
            if now % 10 == 9 {
                let next = queue.pop(now * MS).expect("somebody always waits");
                waits.push(now - came[&next]);
            }
        }
        (waits, refused)
    }

    #[test]
    fn a_learnt_queue_keeps_the_wait_short_and_never_runs_dry() {
        let (waits, refused) = overload(queue(None), 20);
        assert_eq!(waits.len(), 2000, "a server is never left without work");
        let late: Vec<u64> = waits[200..].to_vec();
        let longest = late.iter().max().unwrap();
        assert!(*longest <= 120, "{longest} ms");
        assert!(refused >= 17_900, "{refused}");
    }

    #[test]
    fn a_bounded_queue_is_as_long_as_it_was_told() {
        let (waits, _) = overload(queue(Some(30)), 20);
        assert!(waits[200..].iter().all(|&wait| (270..=300).contains(&wait)));
    }

    #[test]
    fn those_who_are_gone_make_room() {
        let mut queue = queue(Some(2));
        queue.push(1, Class::Critical, 0);
        queue.push(2, Class::Critical, 0);
        queue.retain(|&who| who != 1);
        assert_eq!(queue.offer(Class::Critical), Ok(()));
        assert_eq!(queue.pop(0), Some(2));
        assert_eq!(queue.pop(0), None);
    }
}
