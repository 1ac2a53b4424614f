//! A queue in which nobody waits longer than a deadline.

use std::collections::VecDeque;

/// Requests that wait, by the second in which they came; first come, first served.
#[derive(Clone, Debug)]
pub(super) struct DeadlineQueue {
    deadline_s: u32,
    /// Of each second since the oldest that waits, the number of requests; the newest is last.
    waiting: VecDeque<f64>,
}

/// What became of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct QueueSecond {
    pub(super) served: f64,
    /// Requests whose deadline passed.
    pub(super) bad: f64,
    /// Requests that wait at its end.
    pub(super) waiting: f64,
    /// How long the last one that was served had waited, s.
    pub(super) wait_s: f64,
}

impl DeadlineQueue {
    pub(super) fn new(deadline_s: u32) -> Self {
        Self {
            deadline_s,
            waiting: VecDeque::new(),
        }
    }

    /// A second in which `arriving` come and `capacity` can be served. Those who came `deadline_s` seconds ago and are not
    /// served in it leave.
    pub(super) fn step(&mut self, arriving: f64, capacity: f64) -> QueueSecond {
        self.waiting.push_back(arriving);
        let mut left = capacity;
        let mut wait = 0;
        while left > 0.0
            && let Some(oldest) = self.waiting.front_mut()
        {
            let served = oldest.min(left);
            *oldest -= served;
            left -= served;
            if served > 0.0 {
                wait = self.waiting.len() - 1;
            }
            // The last bucket is this second's own: it stays, so that ages are places.
            if left > 0.0 && self.waiting.len() > 1 {
                self.waiting.pop_front();
            } else {
                break;
            }
        }
        let mut bad = 0.0;
        while self.waiting.len() > self.deadline_s as usize {
            bad += self.waiting.pop_front().unwrap_or(0.0);
        }
        QueueSecond {
            served: capacity - left,
            bad,
            waiting: self.waiting.iter().sum(),
            wait_s: wait as f64,
        }
    }

    /// Requests that will not be served in time at this capacity.
    pub(super) fn hopeless(&self, capacity: f64) -> f64 {
        let mut ahead = 0.0;
        let mut bad = 0.0;
        let len = u32::try_from(self.waiting.len()).unwrap_or(u32::MAX);
        for (place, count) in (1..).zip(&self.waiting) {
            // The oldest have the least time left.
            let left_s = (self.deadline_s + place).saturating_sub(len);
            let served = (capacity * f64::from(left_s) - ahead).clamp(0.0, *count);
            ahead += served;
            bad += count - served;
        }
        bad
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
    }

    #[test]
    fn who_waits_too_long_leaves() {
        let mut queue = DeadlineQueue::new(2);
        let first = queue.step(100.0, 40.0);
        close(first.served, 40.0);
        close(first.waiting, 60.0);
        close(first.bad, 0.0);
        let second = queue.step(100.0, 40.0);
        close(second.waiting, 120.0);
        close(second.wait_s, 1.0);
        // Of the 60 that waited first, 40 were served a second ago and 10 now.
        let third = queue.step(0.0, 10.0);
        close(third.bad, 10.0);
        close(third.waiting, 100.0);
        close(queue.hopeless(40.0), 60.0);
        let last = queue.step(0.0, 1000.0);
        close(last.served, 100.0);
        close(last.bad + last.waiting, 0.0);
    }

    #[test]
    fn everything_that_comes_is_served_or_bad_or_waits() {
        let mut queue = DeadlineQueue::new(3);
        let (mut came, mut served, mut bad, mut waiting) = (0.0, 0.0, 0.0, 0.0);
        for second in 0..200 {
            let (arriving, capacity) = (f64::from(second * 37 % 101), f64::from(second * 53 % 89));
            let step = queue.step(arriving, capacity);
            came += arriving;
            served += step.served;
            bad += step.bad;
            waiting = step.waiting;
            assert!(step.served <= capacity + 1e-9);
        }
        close(came, served + bad + waiting);
    }
}
