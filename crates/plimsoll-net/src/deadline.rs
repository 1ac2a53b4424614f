//! A timer wheel: timeouts of many connections at the cost of one store each.
//!
//! A connection moves its deadline with almost every byte and rarely reaches it. So moving a deadline only writes a
//! number; the entry stays in its slot until that tick, and is then filed again. Time is counted in ticks.
//!
//! Time in which the loop did not run counts for no deadline: it has read nothing of what came meanwhile, and a deadline that
//! was set just before that time was counted would have passed at once.

use std::time::Duration;

use slab::Slab;

/// Length of a tick.
pub const TICK_MS: u64 = 10;

/// Slots of the wheel; an entry that is due later is revisited once in this many ticks.
const SLOTS: u64 = 1024;

/// No deadline.
const NEVER: u64 = u64::MAX;

/// Deadlines by connection; `W` wakes one.
#[derive(Debug)]
pub struct Wheel<W> {
    entries: Slab<TimerEntry<W>>,
    slots: Box<[Vec<Filed>]>,
    /// Ticks in which the loop ran.
    now: u64,
    /// Ticks in which it did not.
    lost: u64,
}

#[derive(Debug)]
struct TimerEntry<W> {
    due: u64,
    /// The tick at which the entry is visited next.
    filed: u64,
    /// Distinguishes an entry from an earlier one with the same key.
    generation: u32,
    expired: bool,
    waker: Option<W>,
}

#[derive(Clone, Copy, Debug)]
struct Filed {
    key: usize,
    generation: u32,
}

impl<W> Wheel<W> {
    /// No connections, at tick 0.
    pub(crate) fn new() -> Self {
        Self {
            entries: Slab::new(),
            slots: (0..SLOTS).map(|_| Vec::new()).collect(),
            now: 0,
            lost: 0,
        }
    }

    /// Adds a connection, without a deadline yet.
    pub fn enter(&mut self, generation: u32) -> usize {
        self.entries.insert(TimerEntry {
            due: NEVER,
            filed: NEVER,
            generation,
            expired: false,
            waker: None,
        })
    }

    /// Removes a connection.
    pub fn leave(&mut self, key: usize) {
        self.entries.remove(key);
    }

    /// The current tick.
    #[inline]
    pub fn now(&self) -> u64 {
        self.now + self.lost
    }

    /// Whether there is no connection.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Sets the waker of a connection.
    pub fn set_waker(&mut self, key: usize, waker: W) {
        self.entries[key].waker = Some(waker);
    }

    /// Sets a deadline this many ticks from now; clears an unread expiry.
    #[inline]
    pub fn set(&mut self, key: usize, ticks: u64) {
        // The current tick has partly passed.
        let due = self.now + ticks + 1;
        let entry = &mut self.entries[key];
        entry.due = due;
        entry.expired = false;
        if due < entry.filed {
            self.file(key);
        }
    }

    /// Whether the deadline has passed; reported once.
    #[inline]
    pub fn take_expired(&mut self, key: usize) -> bool {
        std::mem::take(&mut self.entries[key].expired)
    }

    /// Wakes all connections, with or without a deadline.
    pub fn wake_all(&self, wake: impl Fn(&W)) {
        let wakers = self
            .entries
            .iter()
            .filter_map(|(_, entry)| entry.waker.as_ref());
        wakers.for_each(wake);
    }

    /// Number of ticks in which no deadline can pass: at least one, at most `most` and at most one turn of the wheel.
    pub(crate) fn idle_for(&self, most: u64) -> u64 {
        let mut ticks = 1..most.min(SLOTS - 1);
        let next = ticks.find(|ticks| !self.slots[slot(self.now + ticks)].is_empty());
        next.unwrap_or(most.clamp(1, SLOTS - 1))
    }

    /// Advances to tick `now`; `wake` is called for expired connections. Of the ticks since the last call at most `most`
    /// count, the others are lost.
    pub fn advance_within(&mut self, now: u64, most: u64, wake: impl FnMut(&W)) {
        let passed = now.saturating_sub(self.now());
        let counted = if self.is_empty() {
            passed
        } else {
            passed.min(most)
        };
        self.lost += passed - counted;
        self.advance(self.now + counted, wake);
    }

    /// Advances to this tick of those that count.
    fn advance(&mut self, now: u64, mut wake: impl FnMut(&W)) {
        // After a long stall each slot is visited once.
        self.now = self.now.max(now.saturating_sub(SLOTS));
        while self.now < now {
            self.now += 1;
            let slot = slot(self.now);
            let mut filed = std::mem::take(&mut self.slots[slot]);
            for item in filed.drain(..) {
                self.check_due(item, &mut wake);
            }
            // The slot's memory is reused, unless an entry was filed there meanwhile.
            if self.slots[slot].is_empty() {
                self.slots[slot] = filed;
            }
        }
    }

    fn check_due(&mut self, item: Filed, wake: &mut impl FnMut(&W)) {
        let Some(entry) = self.entries.get_mut(item.key) else {
            return;
        };
        // Filed in another slot since, or replaced by another connection.
        if entry.generation != item.generation || entry.filed > self.now {
            return;
        }
        entry.filed = NEVER;
        if entry.due == NEVER {
            return;
        }
        if entry.due > self.now {
            self.file(item.key);
            return;
        }
        entry.due = NEVER;
        entry.expired = true;
        if let Some(waker) = &entry.waker {
            wake(waker);
        }
    }

    fn file(&mut self, key: usize) {
        let entry = &mut self.entries[key];
        let at = entry.due.min(self.now + SLOTS - 1);
        entry.filed = at;
        let generation = entry.generation;
        self.slots[slot(at)].push(Filed { key, generation });
    }
}

fn slot(tick: u64) -> usize {
    (tick % SLOTS) as usize
}

/// A duration in ticks, rounded up.
pub fn ticks(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis())
        .unwrap_or(u64::MAX / 2)
        .div_ceil(TICK_MS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn woken(wheel: &mut Wheel<u32>, now: u64) -> Vec<u32> {
        let mut woken = Vec::new();
        wheel.advance(now, |&who| woken.push(who));
        woken.sort_unstable();
        woken
    }

    #[test]
    fn a_moved_deadline_is_met_where_it_stands_last() {
        let mut wheel = Wheel::new();
        let (a, b) = (wheel.enter(0), wheel.enter(1));
        wheel.set_waker(a, 1);
        wheel.set_waker(b, 2);
        wheel.set(a, 10);
        wheel.set(b, 5);
        wheel.set(a, 3);
        assert_eq!(woken(&mut wheel, 3), [0_u32; 0]);
        wheel.set(b, 5000);
        assert_eq!(woken(&mut wheel, 4), [1]);
        assert!(wheel.take_expired(a) && !wheel.take_expired(a));
        assert_eq!(woken(&mut wheel, 5003), [0_u32; 0]);
        assert_eq!(woken(&mut wheel, 5004), [2]);
        assert_eq!(woken(&mut wheel, 100_000), [0_u32; 0]);
    }

    #[test]
    fn who_left_is_not_woken_nor_is_the_next_in_its_place() {
        let mut wheel = Wheel::new();
        let a = wheel.enter(0);
        wheel.set_waker(a, 1);
        wheel.set(a, 5);
        wheel.leave(a);
        let b = wheel.enter(1);
        assert_eq!(a, b);
        wheel.set_waker(b, 2);
        wheel.set(b, 50);
        assert_eq!(woken(&mut wheel, 40), [0_u32; 0]);
        assert_eq!(woken(&mut wheel, 51), [2]);
    }

    #[test]
    fn time_in_which_the_loop_did_not_run_counts_for_nobody() {
        let mut wheel = Wheel::new();
        wheel.advance_within(100, 5, |_: &u32| ());
        let a = wheel.enter(0);
        wheel.set_waker(a, 1);
        wheel.set(a, 10);
        let mut woken = Vec::new();
        let mut advance = |wheel: &mut Wheel<u32>, now| {
            wheel.advance_within(now, 5, |&who| woken.push((who, now)));
            assert_eq!(wheel.now(), now);
        };
        // Only five ticks of these count, and then one of each.
        for now in [600, 601, 602, 603, 604, 605, 606, 607] {
            advance(&mut wheel, now);
        }
        assert_eq!(woken, [(1, 606)]);
    }

    proptest! {
        /// Compared with the simplest model: a list of deadlines scanned at every tick.
        #[test]
        fn nobody_is_woken_early_late_or_twice(
            moves in proptest::collection::vec((0_usize..8, 0_u64..3000, 0_u64..700), 1..60)
        ) {
            let mut wheel = Wheel::new();
            let keys: Vec<usize> = (0..8).map(|who| {
                let key = wheel.enter(who);
                wheel.set_waker(key, who);
                key
            }).collect();
            let mut due = [NEVER; 8];
            let mut now = 0;
            for (who, ticks, pass) in moves {
                wheel.set(keys[who], ticks);
                due[who] = now + ticks + 1;
                let idle = wheel.idle_for(100);
                prop_assert!((1..=100).contains(&idle));
                prop_assert!(due.iter().all(|&due| due >= now + idle));
                for _ in 0..pass {
                    now += 1;
                    let expected: Vec<u32> = (0..8_u32).filter(|&timer| due[timer as usize] == now).collect();
                    due.iter_mut().filter(|due| **due == now).for_each(|due| *due = NEVER);
                    prop_assert_eq!(woken(&mut wheel, now), expected);
                }
            }
        }
    }
}
