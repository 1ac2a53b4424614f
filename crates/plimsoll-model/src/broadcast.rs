//! Broadcasts: did every subscriber receive every message, and how late?
//!
//! **Reach** is received / expected. A subscriber is expected to receive every message of its channel that any
//! subscriber received, over all loops and workers, while it was subscribed, less a second at both ends: messages
//! are in transit while subscribers join and leave. A message that no subscriber received is unknown. A subscriber
//! that receives nothing counts with all messages that it was expected to receive, and so scores 0.
//!
//! A [`SubscriberState`] is one subscriber and a [`ChannelObserver`] holds all subscribers of one loop. Neither remembers which
//! subscriber received which message: an observer counts receipts by message, and lists the few whose place depends on
//! what other loops received. [`BroadcastReach`] merges the windows of all loops. The result is exact, as if all pairs of
//! subscriber and message had been recorded.

mod listener;
mod reach;
mod timestamp;

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;

pub use listener::{ChannelObserver, Receipt, SubscriberState};
pub use reach::{BroadcastReach, Reached};
pub use timestamp::unix_us;

/// Margin after a subscription starts and before it ends in which no message is expected, µs.
pub const MARGIN_US: u64 = 1_000_000;

/// What the loops received on one channel in one second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BroadcastWindow {
    /// Messages received, each counted once for each loop.
    pub sightings: Vec<Sighting>,
    /// Subscribers that ceased to listen.
    pub stays: Vec<Stay>,
    /// Receipts whose place is decided when all loops are known.
    pub doubts: Vec<Doubt>,
    /// Receipts of what the subscriber already had.
    pub duplicates: u64,
    /// Receipts after a message with a higher sequence number.
    pub reordered: u64,
    /// Sequence numbers left out between the first and the last that a subscriber got, counted when it ceased to listen.
    pub gaps: u64,
    /// From the publisher's stamp to the receipt, µs.
    pub latency: Histogram,
}

/// A message, as one loop received it in one second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    /// Its sequence number, or a hash of its content.
    pub id: u64,
    /// When the loop first received it, µs of run time.
    pub first_us: u64,
    /// Receipts in this second by subscribers that listened for [`MARGIN_US`] and more.
    pub received: u64,
}

/// The time for which one subscriber was subscribed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stay {
    /// Listened from then on, µs of run time.
    pub open_us: u64,
    /// And until then.
    pub close_us: u64,
    /// Whether it received anything.
    #[serde(rename = "heard")]
    pub received_any: bool,
}

/// A receipt that was counted, and perhaps should not have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubt {
    /// The message.
    pub id: u64,
    /// When its receiver began to listen, µs of run time.
    pub open_us: u64,
    /// When it ceased to, if the doubt is about that: at its beginning it is not known yet.
    pub close_us: Option<u64>,
}

impl BroadcastWindow {
    /// Adds what another loop received, or what was received in another second.
    pub fn merge(&mut self, other: &Self) {
        self.sightings.extend_from_slice(&other.sightings);
        self.stays.extend_from_slice(&other.stays);
        self.doubts.extend_from_slice(&other.doubts);
        self.duplicates += other.duplicates;
        self.reordered += other.reordered;
        self.gaps += other.gaps;
        self.latency.merge(&other.latency);
    }
}

#[cfg(test)]
mod tests;
