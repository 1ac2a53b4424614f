//! Aggregation: the messages of an interval are combined into one by the application.

use std::cmp::Reverse;

use super::{ChannelRef, Channels, Incoming, Published, check_json};

/// The data published to a channel within an interval.
#[derive(Debug)]
pub struct Gathered {
    channel: ChannelRef,
    ticket: u64,
    /// The name of the channel.
    pub name: String,
    /// All data in order: a JSON array.
    pub items: String,
}

/// Result of an aggregation.
#[derive(Clone, Copy, Debug)]
pub enum Made<'a> {
    /// A message: JSON.
    Message(&'a str),
    /// Nothing to send.
    Nothing,
    /// Failed: the newest data is sent.
    Failed,
}

impl Channels {
    pub(super) fn gathered(&self, slot: u32, ticket: u64, items: String) -> Published {
        Published::Gathered(Box::new(Gathered {
            channel: self.reference(slot),
            ticket,
            name: String::from(&*self.slots[slot as usize].name),
            items,
        }))
    }

    /// Sets a timer for when held data of a channel is due.
    pub(super) fn expect_pending(&mut self, slot: u32) {
        let channel = &self.slots[slot as usize];
        if let Some(due) = channel.pending_due() {
            self.due.push(Reverse((due, slot, channel.epoch)));
        }
    }

    /// Sends the result of an aggregation, unless it is too late. Invalid JSON, or a message longer than the channel
    /// allows, counts as [`Made::Failed`]. `place` is its offset in the shared log, if it is another than that of its
    /// data.
    pub fn release(
        &mut self,
        now_ms: u64,
        gathered: &Gathered,
        made: Made<'_>,
        place: Option<u64>,
    ) -> Option<Published> {
        let ChannelRef { slot, .. } = gathered.channel;
        self.get(gathered.channel)?;
        let channel = &mut self.slots[slot as usize];
        let (newest, at) = channel.take_aggregation(gathered.ticket)?;
        let len_max = self.rules.get(channel.rule).data_len_max;
        self.expect_pending(slot);
        let text = match made {
            Made::Nothing => {
                self.expect_end(slot);
                return None;
            }
            Made::Message(text) if text.len() <= len_max && check_json(text).is_ok() => text.trim(),
            Made::Message(_) | Made::Failed => newest.as_str(),
        };
        let at = place.unwrap_or(at);
        self.advance(at);
        Some(self.send(now_ms, slot, Incoming::single(text, at)))
    }
}

#[cfg(test)]
mod tests;
