//! The windows of all loops together.

use std::collections::HashMap;

use super::{BroadcastWindow, Doubt, MARGIN_US, Stay};

/// What is known of one channel, over all windows so far.
#[derive(Clone, Debug, Default)]
pub struct BroadcastReach {
    /// When each message was first received by any loop, µs.
    first_us: HashMap<u64, u64>,
    received: u64,
    stays: Vec<Stay>,
    doubts: Vec<Doubt>,
}

/// What became of the messages of a channel, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// Pairs of a message and a subscriber that was to get it.
    pub expected: u64,
    /// Pairs of these that were received.
    pub received: u64,
    /// Subscribers that were expected to receive something and received nothing.
    pub unreached: u64,
}

impl Reached {
    /// Adds another channel.
    pub fn add(&mut self, other: Self) {
        self.expected += other.expected;
        self.received += other.received;
        self.unreached += other.unreached;
    }

    /// Received / expected; `None` if nothing was expected.
    pub fn ratio(&self) -> Option<f64> {
        (self.expected > 0).then(|| self.received as f64 / self.expected as f64)
    }
}

impl BroadcastReach {
    /// Merges what one or several loops received in a second.
    pub fn add(&mut self, window: &BroadcastWindow) {
        for sighting in &window.sightings {
            let first_us = self.first_us.entry(sighting.id).or_insert(u64::MAX);
            *first_us = sighting.first_us.min(*first_us);
            self.received += sighting.received;
        }
        self.stays.extend_from_slice(&window.stays);
        self.doubts.extend_from_slice(&window.doubts);
    }

    /// Messages that any subscriber received.
    pub fn messages(&self) -> u64 {
        self.first_us.len() as u64
    }

    /// The result. Subscribers that still listen are not in it.
    pub fn result(&self) -> Reached {
        let mut firsts: Vec<u64> = self.first_us.values().copied().collect();
        firsts.sort_unstable();
        let mut reached = Reached::default();
        for stay in &self.stays {
            let expected = expected(&firsts, stay);
            reached.expected += expected;
            reached.unreached += u64::from(expected > 0 && !stay.received_any);
        }
        let mistaken = self.doubts.iter().filter(|doubt| self.is_outside(doubt));
        reached.received = self.received - mistaken.count() as u64;
        reached
    }

    /// Whether a receipt that was counted lies within a margin after all.
    fn is_outside(&self, doubt: &Doubt) -> bool {
        let first_us = self.first_us.get(&doubt.id).copied().unwrap_or(0);
        let is_early = first_us < doubt.open_us + MARGIN_US;
        match doubt.close_us {
            None => is_early,
            // What is too early as well is subtracted by the other bound.
            Some(close_us) => !is_early && first_us + MARGIN_US > close_us,
        }
    }
}

/// How many of the messages a subscriber was expected to receive, by the time of their first receipt.
fn expected(firsts: &[u64], stay: &Stay) -> u64 {
    let from_us = stay.open_us + MARGIN_US;
    let before = firsts.partition_point(|&first_us| first_us < from_us);
    let until = firsts.partition_point(|&first_us| first_us + MARGIN_US <= stay.close_us);
    until.saturating_sub(before) as u64
}
