//! A slot of time, and the stretches in it that were up or down.

use std::collections::BTreeSet;

/// Seconds of a slot at most: each has a bit.
pub(super) const SLOT_MAX_S: i64 = 60;

/// Requests of a stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RequestCounts {
    pub(super) total: u64,
    pub(super) failed: u64,
    /// Good answers later than the longest bound.
    pub(super) late: u64,
    /// Requests that are bad by each latency bound.
    pub(super) bad: Vec<u64>,
}

impl RequestCounts {
    pub(super) fn merge(&mut self, other: &Self, sign: i64) {
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

/// What is known of a slot.
#[derive(Clone, Debug, Default)]
pub(super) struct Slot {
    /// Requests of runs and logs.
    pub(super) sent: RequestCounts,
    /// Requests that a component counted while it was watched.
    pub(super) counted: RequestCounts,
    /// Most virtual users at once.
    pub(super) users: u64,
    /// Clients whose requests failed.
    pub(super) clients: BTreeSet<u64>,
    /// Seconds in which a request succeeded.
    answered: u64,
    /// Seconds in which a listener was seen.
    listening: u64,
    /// Seconds in which one was seen to be gone.
    gone: u64,
}

/// A stretch of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) began_s: i64,
    pub(super) lasted_s: i64,
    pub(super) is_down: bool,
}

impl Slot {
    /// Its requests. Those that were watched are the same ones as those in logs, counted again.
    pub(super) fn requests(&self) -> &RequestCounts {
        if self.sent.total > 0 {
            &self.sent
        } else {
            &self.counted
        }
    }

    /// Notes that a request succeeded in a second of the slot.
    pub(super) fn note_answer(&mut self, second: i64) {
        self.answered |= bit(second);
    }

    /// Notes whether a listener was there in a second of the slot.
    pub(super) fn note_listener(&mut self, second: i64, is_listening: bool) {
        if is_listening {
            self.listening |= bit(second);
        } else {
            self.gone |= bit(second);
        }
    }

    /// Whether no listener was left in a second of the slot, and whether a request succeeded in it.
    pub(super) fn second(&self, second: i64) -> (bool, bool) {
        let is_gone = self.gone & !self.listening & bit(second) != 0;
        (is_gone, self.answered & bit(second) != 0)
    }

    /// Whether there is a second without a listener.
    pub(super) fn has_gone(&self) -> bool {
        self.gone & !self.listening != 0
    }

    /// The service was there without this listener.
    pub(super) fn forget_gone(&mut self, second: i64) {
        if self.gone & bit(second) != 0 {
            self.listening |= bit(second);
        }
    }

    /// The stretches of the slot that begins here, in order. Requests judge it as a whole; within one that is up, and
    /// without requests, the seconds in which nothing listened and nothing was answered are down.
    pub(super) fn stretches(&self, began_s: i64, slot_s: i64) -> Vec<Stretch> {
        let requests = self.requests();
        let has_requests = requests.total > 0;
        let is_down = has_requests && requests.failed * 2 >= requests.total;
        let down = self.gone & !self.listening & !self.answered;
        let known = self.gone | self.listening | self.answered;
        if has_requests && (is_down || down == 0) {
            return vec![Stretch {
                began_s,
                lasted_s: slot_s,
                is_down,
            }];
        }
        let mut stretches: Vec<Stretch> = Vec::new();
        for second in 0..slot_s {
            if !has_requests && known & bit(second) == 0 {
                continue;
            }
            let is_down = down & bit(second) != 0;
            let at = began_s + second;
            match stretches.last_mut() {
                Some(last) if last.is_down == is_down && last.began_s + last.lasted_s == at => {
                    last.lasted_s += 1;
                }
                _ => stretches.push(Stretch {
                    began_s: at,
                    lasted_s: 1,
                    is_down,
                }),
            }
        }
        stretches
    }
}

fn bit(second: i64) -> u64 {
    1 << second.clamp(0, SLOT_MAX_S)
}
