//! What several channels remember, as the past of another: that of a new template.

use std::sync::Arc;

use serde::Deserialize;

use super::channel::Channel;
use super::{Channels, Position};
use crate::history::History;
use crate::message::HubMessage;
use crate::subscriptions::EVENTS;

/// The remembered messages of several channels.
#[derive(Debug, Default)]
pub struct Remembered {
    /// Each with its time in ms.
    messages: Vec<(u64, Arc<HubMessage>)>,
    /// Up to this offset messages may be missing.
    forgotten: u64,
}

/// The topic of an event about a subscription.
#[derive(Deserialize)]
struct EventTopic {
    id: String,
}

impl Remembered {
    /// Keeps the newest `count`, in order.
    fn keep_newest(&mut self, count: usize) {
        self.messages.sort_by_key(|(_, message)| message.offset());
        // An update of several channels is in each of them.
        self.messages.dedup_by_key(|(_, message)| message.offset());
        let dropped = self.messages.len().saturating_sub(count);
        if let Some((_, newest)) = self.messages.drain(..dropped).next_back() {
            self.forgotten = self.forgotten.max(newest.offset());
        }
    }

    /// The offset of the newest, or up to which nothing is known.
    fn newest(&self) -> u64 {
        let newest = self.messages.last();
        newest.map_or(self.forgotten, |(_, message)| {
            message.offset().max(self.forgotten)
        })
    }
}

impl Channels {
    /// Adds what the channels whose names are `meant` remember, at most as much as a channel with the name `name` would.
    pub fn remember(
        &self,
        now_ms: u64,
        name: &str,
        meant: impl Fn(&str) -> bool,
        remembered: &mut Remembered,
    ) {
        if let Some(order) = &self.order {
            remembered.forgotten = remembered.forgotten.max(order.forgotten);
        }
        for (_, channel) in self.slots.iter().filter(|(_, it)| meant(&it.name)) {
            self.collect(now_ms, channel, |_| true, remembered);
        }
        remembered.keep_newest(self.rules.of(name).history.messages_max);
    }

    /// Adds the events about subscriptions whose topics are `meant`: the channel of their template remembers all.
    pub fn remember_events(
        &self,
        now_ms: u64,
        name: &str,
        meant: impl Fn(&str) -> bool,
        remembered: &mut Remembered,
    ) {
        let is_meant = |message: &HubMessage| {
            let data = message.data();
            let event = data.and_then(|data| serde_json::from_str::<EventTopic>(&data).ok());
            event.is_some_and(|event| meant(&event.id))
        };
        if let Some(channel) = self.find(EVENTS).and_then(|events| self.get(events)) {
            self.collect(now_ms, channel, is_meant, remembered);
        }
        remembered.keep_newest(self.rules.of(name).history.messages_max);
    }

    /// Adds what a channel remembers.
    fn collect(
        &self,
        now_ms: u64,
        channel: &Channel,
        is_meant: impl Fn(&HubMessage) -> bool,
        remembered: &mut Remembered,
    ) {
        let forgotten = match &channel.history {
            Some(history) => {
                let limits = self.rules.get(channel.rule).history;
                let messages = history.remembered(now_ms, &limits);
                let messages = messages.filter(|(_, message)| is_meant(message));
                remembered.messages.extend(messages.cloned());
                // Expired messages are forgotten already, though not yet dropped.
                let expired = history.expired(now_ms, &limits);
                history.forgotten().max(expired)
            }
            None => channel.offset,
        };
        remembered.forgotten = remembered.forgotten.max(forgotten);
    }

    /// Creates a channel with this past; whether that was possible. A channel that exists has its own.
    pub fn recall(&mut self, now_ms: u64, name: &str, remembered: &Remembered) -> bool {
        if self.order.is_none() || self.find(name).is_some() {
            return false;
        }
        let Ok(Some(slot)) = self.place(name) else {
            return false;
        };
        let reference = self.reference(slot);
        let epoch = self.order.as_ref().map_or(0, |order| order.epoch);
        let channel = &mut self.slots[slot as usize];
        let limits = self.rules.get(channel.rule).history;
        let mut history = History::after_offset(remembered.forgotten);
        let mut before = remembered.forgotten;
        for (at_ms, message) in &remembered.messages {
            let Some(data) = message.data() else {
                continue;
            };
            let offset = message.offset();
            let position = Position { epoch, offset };
            let after = Some(before.min(offset - 1));
            let copy = HubMessage::new(reference, name, position, after, &data, None);
            before = offset;
            let used = self.history_bytes + history.bytes();
            let room = self.limits.history_bytes_max.saturating_sub(used);
            let copy = Arc::new(copy.with_copies(true));
            history.push(*at_ms, &copy, &limits, room);
        }
        history.prune(now_ms, &limits);
        self.history_bytes += history.bytes();
        channel.offset = remembered.newest();
        channel.history = Some(Box::new(history));
        self.expect_end(slot);
        true
    }
}

#[cfg(test)]
mod tests;
