//! Broadcasts: did everybody who listened get every message, and how late?
//!
//! **Reach** is received / expected. What a subscriber is expected to get is every message of its channel that any
//! subscriber saw, over all loops and workers, while it listened, less a second at both ends: a message moves there while
//! subscribers come and go. A message that nobody got is not known to have been. Who receives nothing counts with all that
//! it was expected to get, and so scores 0.
//!
//! A [`Listener`] is one subscriber and an [`Ear`] all of one loop. Neither remembers who got what: an ear counts receipts
//! by message, and tells of the few whose place depends on what other loops saw. [`Reach`] puts the windows of all loops
//! together. The result is exact, as if all pairs of subscriber and message had been written down.

mod listener;
mod reach;
mod timestamp;

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;

pub use listener::{ChannelObserver, Receipt, SubscriberState};
pub use reach::{BroadcastReach, Reached};
pub use timestamp::unix_us;

/// How long after it began to listen, and before it ceased to, nothing is expected of a subscriber, µs.
pub const MARGIN_US: u64 = 1_000_000;

/// What the ears of loops heard of one channel in one second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BroadcastWindow {
    /// Messages heard, each once for each loop.
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

/// A message, as one loop heard it in one second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    /// Its sequence number, or a hash of its content.
    pub id: u64,
    /// When the loop first heard it, µs of run time.
    pub first_us: u64,
    /// Receipts in this second by subscribers that listened for [`MARGIN_US`] and more.
    pub received: u64,
}

/// One subscriber's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stay {
    /// Listened from then on, µs of run time.
    pub open_us: u64,
    /// And until then.
    pub close_us: u64,
    /// Whether it heard anything.
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
    /// Adds what another loop, or another second, heard.
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
