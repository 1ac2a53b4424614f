//! When a channel begins, and when it ends: without subscribers and recoverable history.

use std::cmp::Reverse;

use super::channel::Channel;
use super::{ChannelRef, Channels, HubRefusal, hash};

impl Channels {
    pub(super) fn create(&mut self, name: &str) -> Result<ChannelRef, HubRefusal> {
        if self.slots.len() >= self.limits.channels_max {
            return Err(HubRefusal::TooManyChannels);
        }
        let (epoch, step) = self.epochs;
        self.epochs.0 = epoch + step;
        let rule = self.rules.index(name);
        let mut channel = Channel::new(name, epoch, rule);
        channel.offset = self.order.as_ref().map_or(0, |order| order.forgotten);
        let slot = self.slots.insert(channel);
        let slot = u32::try_from(slot).map_err(|_| HubRefusal::TooManyChannels)?;
        let (seed, channels) = (self.seed, &self.slots);
        self.by_name.insert_unique(hash(seed, name), slot, |&slot| {
            hash(seed, &channels[slot as usize].name)
        });
        Ok(ChannelRef { slot, epoch })
    }

    /// Sets a timer for a channel without subscribers, for when its history expires.
    pub(super) fn expect_end(&mut self, slot: u32) {
        let channel = &mut self.slots[slot as usize];
        if channel.subscribers > 0 || channel.is_end_expected {
            return;
        }
        channel.is_end_expected = true;
        let limits = self.rules.get(channel.rule).history;
        let history = channel.history.as_ref();
        let at = history.map_or(0, |history| history.expires_at(&limits));
        self.due.push(Reverse((at, slot, channel.epoch)));
    }

    /// Ends a channel without subscribers and recoverable history.
    pub(super) fn end_if_unused(&mut self, now_ms: u64, slot: u32) {
        let channel = &mut self.slots[slot as usize];
        channel.is_end_expected = false;
        if channel.subscribers > 0 || channel.is_holding() {
            return;
        }
        if let Some(history) = &mut channel.history {
            let limits = self.rules.get(channel.rule).history;
            self.history_bytes -= history.bytes();
            history.prune(now_ms, &limits);
            self.history_bytes += history.bytes();
            if !history.is_empty() {
                return self.expect_end(slot);
            }
        }
        let channel = self.slots.remove(slot as usize);
        if let Some(order) = &mut self.order {
            order.forget(channel.offset);
        }
        let entry = self
            .by_name
            .find_entry(hash(self.seed, &channel.name), |&other| other == slot);
        if let Ok(entry) = entry {
            entry.remove();
        }
    }
}
