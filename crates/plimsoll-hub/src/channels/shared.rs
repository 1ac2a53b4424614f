//! Channels shared by several hubs. All messages go into one log that every hub reads, with offsets from 1; the offset
//! of a message is its offset in the log, so it means the same in every hub and for every channel. The generation of
//! the log is the epoch of all channels.
//!
//! Each hub keeps its own history and conflates by itself. A position means "everything up to this offset of the log",
//! so a client may continue with it at any hub.

use std::sync::Arc;

use super::{Channels, HubRefusal, Incoming, Position, Published, check_json};
use crate::message::HubMessage;
use crate::pattern::check_name;

/// The state of a shard in the log.
#[derive(Debug)]
pub(super) struct SharedOrder {
    /// Generation of the log; never reused.
    pub(super) epoch: u64,
    /// The last offset that was read.
    pub(super) at: u64,
    /// How far ahead of this hub a client of another may be; a higher offset is unknown.
    pub(super) ahead_max: u64,
    /// Messages up to here may be forgotten although no channel exists for them.
    pub(super) forgotten: u64,
}

impl SharedOrder {
    /// Forgets a channel whose newest message has this offset.
    pub(super) fn forget(&mut self, offset: u64) {
        self.forgotten = self.forgotten.max(offset);
    }
}

impl Channels {
    /// Starts to follow a log at a position, or continues at another one because messages were missed or the log was
    /// replaced. Nothing from before can be recovered; [`Channels::next_notice`] returns the notices for subscribers.
    /// Clients of other hubs may be `ahead_max` messages ahead; 0 for a log that this hub alone writes.
    pub fn begin_anew(&mut self, position: Position, ahead_max: u64) {
        let Position { epoch, offset } = position;
        let is_first = self.order.is_none();
        self.order = Some(SharedOrder {
            epoch,
            at: offset,
            ahead_max,
            forgotten: offset,
        });
        for (_, channel) in &mut self.slots {
            channel.begin_anew(offset);
        }
        self.history_bytes = 0;
        self.next_notice_slot = if is_first { usize::MAX } else { 0 };
    }

    /// The notice for the subscribers of one more channel since [`Channels::begin_anew`].
    pub fn next_notice(&mut self) -> Option<Published> {
        let order = self.order.as_ref()?;
        while self.next_notice_slot < self.slots.capacity() {
            let index = self.next_notice_slot;
            self.next_notice_slot += 1;
            let Some(channel) = self.slots.get(index).filter(|channel| channel.loops() != 0) else {
                continue;
            };
            let loops = channel.loops();
            let position = Position {
                epoch: order.epoch,
                offset: channel.offset,
            };
            let reference = self.reference(u32::try_from(index).ok()?);
            let notice = HubMessage::notice(reference, &self.slots[index].name, position);
            return Some(Published::Sent(Arc::new(notice), loops));
        }
        None
    }

    /// All offsets up to this one were read, of whatever shard.
    pub fn advance(&mut self, at: u64) {
        if let Some(order) = &mut self.order {
            order.at = order.at.max(at);
        }
    }

    /// Messages up to here may be missing from channels that are created now.
    pub fn forget(&mut self, place: u64) {
        if let Some(order) = &mut self.order {
            order.forget(place);
        }
    }

    /// Whether a message may be added to the log: the checks of [`Channels::publish`].
    ///
    /// # Errors
    /// When the name, the data or the rate is not permitted.
    pub fn examine(&mut self, now_ms: u64, name: &str, data: &str) -> Result<(), HubRefusal> {
        self.check(name, data)?;
        if self.rules.of(name).publish_rate.is_none() {
            return Ok(());
        }
        let channel = match self.find(name) {
            Some(channel) => channel,
            None => self.create(name)?,
        };
        self.keep_rate(now_ms, channel.slot)?;
        self.expect_end(channel.slot);
        Ok(())
    }

    /// Makes sure that a channel can take the message that [`Channels::examine`] has accepted.
    ///
    /// # Errors
    /// When there are too many channels.
    pub fn reserve(&mut self, name: &str) -> Result<(), HubRefusal> {
        if let Some(slot) = self.place(name)? {
            self.expect_end(slot);
        }
        Ok(())
    }

    /// Takes a message from the log. It was checked by the hub that added it, whose rules may differ.
    ///
    /// # Errors
    /// When it is invalid, or there are too many channels.
    pub fn take(
        &mut self,
        now_ms: u64,
        name: &str,
        data: &str,
        at: u64,
    ) -> Result<Published, HubRefusal> {
        self.take_in(now_ms, name, Incoming::single(data, at))
    }

    /// Like [`Channels::take`], for a message that other channels get too, at the same offset: a reader of several of
    /// them is given it once.
    ///
    /// # Errors
    /// When it is invalid, or there are too many channels.
    pub fn take_copy(
        &mut self,
        now_ms: u64,
        name: &str,
        data: &str,
        at: u64,
    ) -> Result<Published, HubRefusal> {
        let is_copy = true;
        self.take_in(now_ms, name, Incoming { data, at, is_copy })
    }

    fn take_in(
        &mut self,
        now_ms: u64,
        name: &str,
        incoming: Incoming<'_>,
    ) -> Result<Published, HubRefusal> {
        let Incoming { data, at, is_copy } = incoming;
        self.advance(at);
        check_name(name)?;
        check_json(data)?;
        let place = self.place(name);
        if let Ok(Some(slot)) = place {
            let data = data.trim();
            return self.put(now_ms, slot, Incoming { data, at, is_copy });
        }
        if let Some(order) = &mut self.order {
            order.forget(at);
        }
        place.map(|_| Published::Unheard)
    }
}

#[cfg(test)]
mod tests;
