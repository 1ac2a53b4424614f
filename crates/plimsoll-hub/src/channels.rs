//! A shard of the channels: names, offsets, histories, conflated data, and subscriptions.

mod channel;
mod gathered;
mod lifetime;
mod presence;
mod recall;
mod refusal;
mod shared;
mod subscription;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::Hasher as _;
use std::sync::Arc;

use hashbrown::HashTable;
use serde_json::value::RawValue;
use siphasher::sip::SipHasher13;
use slab::Slab;

use crate::history::History;
use crate::message::HubMessage;
use crate::pattern::check_name;
pub use crate::position::{ChannelRef, Position, Since};
use crate::rules::{ChannelRule, Rules};
use channel::{Channel, DueAction};
pub use gathered::{Gathered, Made};
pub use presence::{ChannelStats, Presence};
pub use recall::Remembered;
pub use refusal::HubRefusal;
use shared::SharedOrder;
pub use subscription::{Subscriber, Subscription};

/// Most event loops: each has a bit in a channel.
pub const LOOPS_MAX: u8 = 64;

/// Limits for all channels.
#[derive(Clone, Copy, Debug)]
pub struct ChannelLimits {
    /// Most channels.
    pub channels_max: usize,
    /// Bytes of all histories.
    pub history_bytes_max: usize,
}

/// Result of publishing.
#[derive(Debug)]
pub enum Published {
    /// A message is to be delivered now, to these loops, a bit for each. Under conflation it may be one that was held
    /// before.
    Sent(Arc<HubMessage>, u64),
    /// Held until the interval ends.
    Held,
    /// No subscribers, and no history.
    Unheard,
    /// The application is to aggregate what was held; pass its result to [`Channels::release`]. Only [`Channels::tick`]
    /// returns this.
    Gathered(Box<Gathered>),
}

/// Data on its way into a channel.
#[derive(Clone, Copy, Debug)]
struct Incoming<'a> {
    /// JSON.
    data: &'a str,
    /// Its offset in the shared log, if any.
    at: u64,
    /// Whether other channels get the same at the same offset.
    is_copy: bool,
}

impl<'a> Incoming<'a> {
    /// For this channel only.
    fn single(data: &'a str, at: u64) -> Self {
        Self {
            data,
            at,
            is_copy: false,
        }
    }
}

/// A shard of the channels.
#[derive(Debug)]
pub struct Channels {
    rules: Rules,
    limits: ChannelLimits,
    seed: (u64, u64),
    /// The next epoch, and the step to the one after.
    epochs: (u64, u64),
    slots: Slab<Channel>,
    by_name: HashTable<u32>,
    history_bytes: usize,
    /// Timers: held messages, and channels that may end.
    due: BinaryHeap<Reverse<(u64, u32, u64)>>,
    /// The log that hubs share, if any.
    order: Option<SharedOrder>,
    /// The first slot whose subscribers have not been notified of missed messages.
    next_notice_slot: usize,
}

impl Channels {
    /// The shard `index` of `count`. Epochs begin above `first_epoch`, which must exceed those of all earlier runs: the
    /// milliseconds since 1970 times 1,000 do, and are exact in JavaScript. `seed` prevents clients from choosing names
    /// that collide.
    pub fn new(
        rules: Rules,
        limits: ChannelLimits,
        seed: (u64, u64),
        first_epoch: u64,
        shard: (u32, u32),
    ) -> Self {
        let (index, count) = shard;
        Self {
            rules,
            limits,
            seed,
            epochs: (first_epoch + u64::from(index), u64::from(count)),
            slots: Slab::new(),
            by_name: HashTable::new(),
            history_bytes: 0,
            due: BinaryHeap::new(),
            order: None,
            next_notice_slot: usize::MAX,
        }
    }

    /// The number of channels.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are no channels.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Bytes of all histories; at most [`ChannelLimits::history_bytes_max`].
    pub fn history_bytes(&self) -> usize {
        self.history_bytes
    }

    /// Applies new rules. Channels, their offsets and held messages stay; history beyond the new limits is dropped.
    pub fn follow(&mut self, rules: Rules, limits: ChannelLimits) {
        self.rules = rules;
        self.limits = limits;
        for (_, channel) in &mut self.slots {
            channel.rule = self.rules.index(&channel.name);
            let remembers = self.rules.get(channel.rule).history.messages_max > 0;
            if let Some(history) = channel.history.take_if(|_| !remembers) {
                self.history_bytes -= history.bytes();
            }
        }
    }

    /// The rule for a name.
    pub fn rule(&self, name: &str) -> &ChannelRule {
        self.rules.of(name)
    }

    /// The live channel of a name, if any.
    pub fn find(&self, name: &str) -> Option<ChannelRef> {
        let channels = &self.slots;
        let found = self.by_name.find(hash(self.seed, name), |&slot| {
            *channels[slot as usize].name == *name
        });
        found.map(|&slot| self.reference(slot))
    }

    /// Which of `count` shards contains a channel, given the `first_epoch` of the shards.
    pub fn shard_of(channel: ChannelRef, first_epoch: u64, count: u32) -> u64 {
        channel.epoch.wrapping_sub(first_epoch) % u64::from(count.max(1))
    }

    /// The name of a live channel.
    pub fn name(&self, channel: ChannelRef) -> Option<&str> {
        self.get(channel).map(|channel| &*channel.name)
    }

    /// The number of subscribers of a channel.
    pub fn subscribers(&self, channel: ChannelRef) -> u32 {
        self.get(channel).map_or(0, |channel| channel.subscribers)
    }

    fn get(&self, channel: ChannelRef) -> Option<&Channel> {
        let found = self.slots.get(channel.slot as usize)?;
        (found.epoch == channel.epoch).then_some(found)
    }

    fn reference(&self, slot: u32) -> ChannelRef {
        ChannelRef {
            slot,
            epoch: self.slots[slot as usize].epoch,
        }
    }

    /// Publishes JSON to a channel.
    ///
    /// # Errors
    /// When the name, the data or the rate is not permitted; then nothing has changed.
    pub fn publish(
        &mut self,
        now_ms: u64,
        name: &str,
        data: &str,
    ) -> Result<Published, HubRefusal> {
        self.check(name, data)?;
        let Some(slot) = self.place(name)? else {
            return Ok(Published::Unheard);
        };
        self.keep_rate(now_ms, slot)?;
        self.put(now_ms, slot, Incoming::single(data.trim(), 0))
    }

    /// Whether a channel may have this name, and a message of it this data.
    ///
    /// # Errors
    /// When one of them is not permitted.
    pub fn check(&self, name: &str, data: &str) -> Result<(), HubRefusal> {
        check_name(name)?;
        let len_max = self.rules.of(name).data_len_max;
        if data.len() > len_max {
            return Err(HubRefusal::DataTooLong(len_max));
        }
        check_json(data)
    }

    /// The slot of a channel, created if necessary; `None` without subscribers and history.
    fn place(&mut self, name: &str) -> Result<Option<u32>, HubRefusal> {
        let is_remembered = self.rules.of(name).history.messages_max > 0;
        match self.find(name) {
            Some(channel) => Ok(Some(channel.slot)),
            None if !is_remembered => Ok(None),
            None => Ok(Some(self.create(name)?.slot)),
        }
    }

    fn keep_rate(&mut self, now_ms: u64, slot: u32) -> Result<(), HubRefusal> {
        let place = &mut self.slots[slot as usize];
        if place.may_publish(now_ms, self.rules.get(place.rule)) {
            return Ok(());
        }
        self.expect_end(slot);
        Err(HubRefusal::TooOften)
    }

    /// Sends data, or holds it.
    ///
    /// # Errors
    /// When no more can be held.
    fn put(
        &mut self,
        now_ms: u64,
        slot: u32,
        incoming: Incoming<'_>,
    ) -> Result<Published, HubRefusal> {
        let place = &mut self.slots[slot as usize];
        let rule = self.rules.get(place.rule);
        let Some(conflation) = rule.conflation else {
            return Ok(self.send(now_ms, slot, incoming));
        };
        let epoch = place.epoch;
        let Incoming { data, at, .. } = incoming;
        Ok(
            match place.conflate(now_ms, conflation, rule.data_len_max, (data, at)) {
                channel::Conflated::Now => self.send(now_ms, slot, incoming),
                channel::Conflated::Held { due } => {
                    if let Some(due) = due {
                        self.due.push(Reverse((due, slot, epoch)));
                    }
                    Published::Held
                }
                channel::Conflated::Overflown(text, at) => {
                    self.send(now_ms, slot, Incoming::single(&text, at))
                }
                channel::Conflated::Full => return Err(HubRefusal::Behind),
            },
        )
    }

    /// Assigns an offset to data, adds it to the history, and returns it for delivery.
    fn send(&mut self, now_ms: u64, slot: u32, incoming: Incoming<'_>) -> Published {
        let Incoming { data, at, is_copy } = incoming;
        let reference = self.reference(slot);
        let channel = &mut self.slots[slot as usize];
        let rule = self.rules.get(channel.rule);
        let limits = rule.history;
        let before = channel.offset;
        let (epoch, offset, after) = match &self.order {
            Some(order) => (order.epoch, at, Some(before)),
            None => (channel.epoch, before + 1, None),
        };
        channel.offset = offset;
        channel.messages += 1;
        channel.deliveries += u64::from(channel.subscribers);
        let position = Position { epoch, offset };
        let has_patches = rule.has_patches.then_some(());
        let newest = has_patches.and_then(|()| channel.replace_newest(offset, data));
        let newest = newest.as_ref();
        let message = HubMessage::new(reference, &channel.name, position, after, data, newest);
        let message = Arc::new(message.with_copies(is_copy));
        if limits.messages_max > 0 {
            let room = self
                .limits
                .history_bytes_max
                .saturating_sub(self.history_bytes);
            let history = channel
                .history
                .get_or_insert_with(|| Box::new(History::after_offset(before)));
            self.history_bytes -= history.bytes();
            history.push(now_ms, &message, &limits, room);
            self.history_bytes += history.bytes();
        }
        let loops = channel.loops();
        self.expect_end(slot);
        Published::Sent(message, loops)
    }

    /// Time of the next timer, ms.
    pub fn next_due(&self) -> Option<u64> {
        self.due.peek().map(|Reverse((at, ..))| *at)
    }

    /// Handles one due timer, and returns the result; `None` when no more is due.
    pub fn tick(&mut self, now_ms: u64) -> Option<Published> {
        self.tick_at(now_ms, None)
    }

    /// Like [`Channels::tick`], with another offset in the shared log.
    pub fn tick_at(&mut self, now_ms: u64, place: Option<u64>) -> Option<Published> {
        loop {
            let &Reverse((at, slot, epoch)) = self.due.peek()?;
            if at > now_ms {
                return None;
            }
            self.due.pop();
            let reference = ChannelRef { slot, epoch };
            if self.get(reference).is_none() {
                continue;
            }
            let channel = &mut self.slots[slot as usize];
            let rule = self.rules.get(channel.rule);
            match channel.take_due(now_ms, rule) {
                DueAction::Send(text, at) => {
                    self.expect_pending(slot);
                    let at = place.unwrap_or(at);
                    self.advance(at);
                    return Some(self.send(now_ms, slot, Incoming::single(&text, at)));
                }
                DueAction::Aggregate {
                    ticket,
                    items,
                    until_ms,
                } => {
                    self.due.push(Reverse((until_ms, slot, epoch)));
                    return Some(self.gathered(slot, ticket, items));
                }
                DueAction::Nothing => self.end_if_unused(now_ms, slot),
            }
        }
    }

    /// Subscribes to a channel, optionally from the subscriber's last position.
    ///
    /// # Errors
    /// When the name is not permitted, or a limit is reached.
    pub fn subscribe(
        &mut self,
        now_ms: u64,
        name: &str,
        since: Option<Position>,
        subscriber: Subscriber<'_>,
    ) -> Result<Subscription, HubRefusal> {
        self.subscribe_from(now_ms, name, since.into(), subscriber)
    }

    /// Subscribes to a channel from anywhere.
    ///
    /// # Errors
    /// When the name is not permitted, or a limit is reached.
    pub fn subscribe_from(
        &mut self,
        now_ms: u64,
        name: &str,
        since: Since,
        subscriber: Subscriber<'_>,
    ) -> Result<Subscription, HubRefusal> {
        check_name(name)?;
        let reference = match self.find(name) {
            Some(channel) => channel,
            None => self.create(name)?,
        };
        let channel = &mut self.slots[reference.slot as usize];
        let rule = self.rules.get(channel.rule);
        if channel.subscribers >= rule.subscribers_max {
            self.expect_end(reference.slot);
            return Err(HubRefusal::TooManySubscribers);
        }
        channel.join(subscriber, rule);
        let order = self.order.as_ref();
        self.history_bytes -= channel.history_bytes();
        let (missed, is_recovered) = channel.missed(now_ms, rule, since, order);
        self.history_bytes += channel.history_bytes();
        let ahead = match (since, is_recovered) {
            (Since::After(since), Some(true)) => since.offset,
            _ => 0,
        };
        Ok(Subscription {
            channel: reference,
            position: Position {
                epoch: order.map_or(reference.epoch, |order| order.epoch),
                offset: channel.standing(order).max(ahead),
            },
            missed,
            is_recovered,
        })
    }

    /// Ends a subscription; `is_last` if it was the last one of its loop.
    pub fn leave(
        &mut self,
        now_ms: u64,
        channel: ChannelRef,
        is_last: bool,
        subscriber: Subscriber<'_>,
    ) {
        if self.get(channel).is_none() {
            return;
        }
        let place = &mut self.slots[channel.slot as usize];
        place.leave(is_last, subscriber);
        // At most one timer per channel, however often subscribers come and go.
        if place.subscribers == 0 && !place.is_end_expected {
            self.end_if_unused(now_ms, channel.slot);
        }
    }
}

fn check_json(data: &str) -> Result<(), HubRefusal> {
    match serde_json::from_str::<&RawValue>(data) {
        Ok(_) => Ok(()),
        Err(_) => Err(HubRefusal::NotJson),
    }
}

fn hash((first, second): (u64, u64), name: &str) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(first, second);
    hasher.write(name.as_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests;
