//! The waiting line. Pure; the time is passed in.

use std::collections::VecDeque;
use std::time::Duration;

use plimsoll_net::clock::{Nanoseconds, nanoseconds};

use super::{QueuePosition, SECOND_NS};

/// Lines up to this length are counted at every poll, longer ones twice a second.
const EXACT_LEN: usize = 256;
const SWEEP_NS: Nanoseconds = SECOND_NS / 2;
/// Minimum silence after which a browser that came back once counts as gone.
const GONE_NS: Nanoseconds = 60 * SECOND_NS;
/// Weight of one second's admissions in the rate.
const RATE_WEIGHT: f64 = 0.2;

/// Places in line, in the order they were assigned.
#[derive(Debug)]
pub(super) struct WaitingLine {
    len_max: u32,
    retry: Nanoseconds,
    /// The number of the first slot.
    first: u64,
    slots: VecDeque<WaitingSlot>,
    alive: u32,
    swept: Nanoseconds,
    /// How many at the front may try.
    window: f64,
    /// When it last changed for lack of room, or for lack of attempts.
    window_since: Nanoseconds,
    /// Admissions per second; 0 is unknown.
    rate: f64,
    admitted: u32,
    admitted_since: Nanoseconds,
}

#[derive(Clone, Copy, Debug)]
struct WaitingSlot {
    last_request: Nanoseconds,
    is_here: bool,
    came_back: bool,
    /// Number of places ahead at the last sweep.
    before: u32,
}

impl WaitingLine {
    pub(super) fn new(len_max: u32, retry: Duration) -> Self {
        Self {
            len_max,
            retry: nanoseconds(retry),
            first: 1,
            slots: VecDeque::new(),
            alive: 0,
            swept: 0,
            window: 0.0,
            window_since: 0,
            rate: 0.0,
            admitted: 0,
            admitted_since: 0,
        }
    }

    pub(super) fn len(&self) -> u32 {
        self.alive
    }

    /// Removes abandoned places and counts the others.
    pub(super) fn sweep(&mut self, now: Nanoseconds) {
        self.update_rate(now);
        if self.slots.len() > EXACT_LEN && now.saturating_sub(self.swept) < SWEEP_NS {
            return;
        }
        self.swept = now;
        let mut before = 0;
        for slot in &mut self.slots {
            let idle = now.saturating_sub(slot.last_request);
            let most = if slot.came_back {
                (3 * self.retry).max(GONE_NS)
            } else {
                // Clients without cookies never come back with their place.
                2 * self.retry + 5 * SECOND_NS
            };
            slot.is_here &= idle < most;
            slot.before = before;
            before += u32::from(slot.is_here);
        }
        self.alive = before;
        while self.slots.front().is_some_and(|slot| !slot.is_here) {
            self.slots.pop_front();
            self.first += 1;
        }
    }

    /// Adds a place at the end, unless the line is full: its number and how many are ahead.
    pub(super) fn join(&mut self, now: Nanoseconds) -> Option<(u64, u32)> {
        if self.alive >= self.len_max {
            return None;
        }
        if self.slots.is_empty() {
            self.window = 0.0;
            self.window_since = now;
            self.admitted_since = now;
            self.admitted = 0;
        }
        let before = self.alive;
        self.slots.push_back(WaitingSlot {
            last_request: now,
            is_here: true,
            came_back: false,
            before,
        });
        self.alive += 1;
        Some((self.first + self.slots.len() as u64 - 1, before))
    }

    fn slot(&mut self, number: u64) -> Option<&mut WaitingSlot> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.slots.get_mut(at).filter(|slot| slot.is_here)
    }

    /// A browser polls: how many are ahead; `None` when its place is gone.
    pub(super) fn come(&mut self, number: u64, now: Nanoseconds) -> Option<u32> {
        let slot = self.slot(number)?;
        slot.last_request = now;
        slot.came_back = true;
        Some(slot.before)
    }

    /// Whether a place is within the window. `places` is the capacity of the servers.
    pub(super) fn may_try(&self, before: u32, places: u32) -> bool {
        f64::from(before) < self.window.max(f64::from(places.max(1)))
    }

    /// A browser was admitted.
    pub(super) fn got_in(&mut self, number: u64, now: Nanoseconds) {
        if let Some(slot) = self.slot(number) {
            slot.is_here = false;
            self.alive -= 1;
            self.admitted += 1;
            self.window += 1.0;
            self.window_since = now;
        }
    }

    /// A browser tried and found no room.
    pub(super) fn shrink_window(&mut self, now: Nanoseconds) {
        if now.saturating_sub(self.window_since) >= SECOND_NS {
            self.window *= 0.8;
            self.window_since = now;
        }
    }

    fn update_rate(&mut self, now: Nanoseconds) {
        let passed = now.saturating_sub(self.admitted_since);
        if passed >= SECOND_NS {
            let rate = f64::from(self.admitted) / (passed as f64 / SECOND_NS as f64);
            self.rate = if self.rate == 0.0 {
                rate
            } else {
                self.rate + RATE_WEIGHT * (rate - self.rate)
            };
            self.admitted = 0;
            self.admitted_since = now;
        }
        // None of those in the window polls: they have left, and the next ones may try.
        if now.saturating_sub(self.window_since) >= 2 * SECOND_NS {
            self.window = (self.window * 1.5 + 1.0).min(f64::from(self.alive));
            self.window_since = now;
        }
    }

    /// Position of a place, for the page.
    pub(super) fn place(
        &self,
        number: u64,
        before: u32,
        is_new: bool,
        places: u32,
    ) -> QueuePosition {
        let wait = f64::from(before + 1) / self.rate;
        let wait_s = (self.rate > 0.01 && wait < 86_400.0).then_some(wait);
        let most = self.retry as f64 / SECOND_NS as f64;
        let retry = if self.may_try(before, places) {
            1.0
        } else {
            // Two polls before its turn, so that it does not come too late.
            wait_s.map_or(most, |wait| wait / 2.0)
        };
        QueuePosition {
            number,
            before,
            wait_s: wait_s.map(whole),
            retry_s: whole(retry.clamp(1.0, most.max(1.0))),
            is_new,
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "seconds of at most a day"
)]
fn whole(seconds: f64) -> u32 {
    seconds.ceil() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(len_max: u32) -> WaitingLine {
        WaitingLine::new(len_max, Duration::from_secs(10))
    }

    #[test]
    fn those_who_came_first_go_first_and_those_who_leave_make_room() {
        let mut line = line(3);
        let first = line.join(SECOND_NS).unwrap();
        let second = line.join(SECOND_NS).unwrap();
        assert_eq!((first.1, second.1), (0, 1));
        let third = line.join(2 * SECOND_NS).unwrap();
        assert_eq!(line.join(2 * SECOND_NS), None, "three may wait");
        // Capacity one: only the first may try.
        assert!(line.may_try(0, 1) && !line.may_try(1, 1));
        assert_eq!(line.come(second.0, 3 * SECOND_NS), Some(1));
        line.got_in(first.0, 4 * SECOND_NS);
        line.sweep(4 * SECOND_NS);
        assert_eq!(
            line.come(first.0, 4 * SECOND_NS),
            None,
            "a place is used once"
        );
        assert_eq!(line.come(second.0, 4 * SECOND_NS), Some(0));
        // The third never came back.
        line.sweep(27 * SECOND_NS);
        assert_eq!((line.come(third.0, 27 * SECOND_NS), line.len()), (None, 1));
        line.sweep(64 * SECOND_NS);
        assert_eq!(line.len(), 0, "nor did the second any more");
        assert_eq!(line.come(99, 64 * SECOND_NS), None);
    }

    #[test]
    fn the_window_widens_with_those_who_get_in_and_when_nobody_tries() {
        let mut line = line(1000);
        let numbers: Vec<u64> = (0..100).map(|_| line.join(0).unwrap().0).collect();
        for number in &numbers[..10] {
            line.got_in(*number, SECOND_NS / 10);
        }
        assert!(line.may_try(9, 1) && !line.may_try(10, 1));
        line.shrink_window(3 * SECOND_NS);
        assert!(!line.may_try(9, 1), "narrower when there is no room");
        for second in 4..10 {
            line.sweep(second * SECOND_NS);
        }
        assert!(line.may_try(20, 1), "those at the front have left");
    }

    #[test]
    fn the_wait_is_told_by_the_rate_of_turns() {
        let mut line = line(10_000);
        let mut now = SECOND_NS;
        let numbers: Vec<u64> = (0..2000).map(|_| line.join(now).unwrap().0).collect();
        assert_eq!(line.place(numbers[9], 9, true, 1).wait_s, None);
        for number in &numbers[..500] {
            now += SECOND_NS / 50;
            line.sweep(now);
            line.got_in(*number, now);
        }
        line.swept = 0;
        line.sweep(now);
        let before = line.come(numbers[1499], now).unwrap();
        assert_eq!(before, 999);
        let place = line.place(numbers[1499], before, false, 1);
        assert!((19..=21).contains(&place.wait_s.unwrap()), "{place:?}");
        assert_eq!(place.retry_s, 10);
    }
}
