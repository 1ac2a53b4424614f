//! Who subscribes, and what that one is told and given.

use std::sync::Arc;

use super::{ChannelRef, Position};
use crate::message::HubMessage;

/// What a new subscriber is told and given.
#[derive(Debug)]
pub struct Subscription {
    /// The channel.
    pub channel: ChannelRef,
    /// Up to where it then knows everything.
    pub position: Position,
    /// What it is given now.
    pub missed: Vec<Arc<HubMessage>>,
    /// Whether that is everything since it was there last; `None` if it did not say when that was.
    pub is_recovered: Option<bool>,
}

impl Subscription {
    /// Gives it nothing of what was before: who wanted to recover could not.
    pub fn forgo_missed(&mut self) {
        self.missed = Vec::new();
        self.is_recovered = self.is_recovered.map(|_| false);
    }
}

/// A subscriber: the loop that it belongs to, and who it is where presence is kept.
#[derive(Clone, Copy, Debug)]
pub struct Subscriber<'a> {
    /// Below [`LOOPS_MAX`](super::LOOPS_MAX).
    pub event_loop: u8,
    /// The user that it stands for.
    pub user: Option<&'a str>,
}
