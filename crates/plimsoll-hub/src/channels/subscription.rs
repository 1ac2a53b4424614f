//! New subscriptions.

use std::sync::Arc;

use super::{ChannelRef, Position};
use crate::message::HubMessage;

/// Result of a subscription.
#[derive(Debug)]
pub struct Subscription {
    /// The channel.
    pub channel: ChannelRef,
    /// The position up to which the subscriber is then up to date.
    pub position: Position,
    /// Messages to be sent now.
    pub missed: Vec<Arc<HubMessage>>,
    /// Whether these are all since its last position; `None` if it gave none.
    pub is_recovered: Option<bool>,
}

impl Subscription {
    /// Drops the replay: a recovery then counts as failed.
    pub fn forgo_missed(&mut self) {
        self.missed = Vec::new();
        self.is_recovered = self.is_recovered.map(|_| false);
    }
}

/// A subscriber: its event loop, and its user where presence is on.
#[derive(Clone, Copy, Debug)]
pub struct Subscriber<'a> {
    /// Below [`LOOPS_MAX`](super::LOOPS_MAX).
    pub event_loop: u8,
    /// Its user.
    pub user: Option<&'a str>,
}
