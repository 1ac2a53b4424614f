//! Several hubs that share their channels. What is published goes into one order that all of them read, a log whose places
//! are numbers from 1; a message's offset is its place there, so an offset means the same in every hub and for every
//! channel. The order's life is the epoch of all channels.
//!
//! Each hub remembers and conflates for itself what it reads. A position says "everything up to this place of the order",
//! so a client may go on with it anywhere.

use std::sync::Arc;

use super::{Channels, HubRefusal, Position, Published, check_json};
use crate::message::HubMessage;
use crate::pattern::check_name;

/// Highest place: what JavaScript reads exactly.
pub(super) const OFFSET_MAX: u64 = (1 << 53) - 1;

/// How far a shard is in the order.
#[derive(Debug)]
pub(super) struct SharedOrder {
    /// Its life, which is never used twice.
    pub(super) epoch: u64,
    /// The last place that is read.
    pub(super) at: u64,
    /// Messages up to here may be forgotten without a trace in any channel.
    pub(super) forgotten: u64,
}

impl SharedOrder {
    /// A channel is forgotten whose newest message was here.
    pub(super) fn forget(&mut self, offset: u64) {
        self.forgotten = self.forgotten.max(offset);
    }
}

impl Channels {
    /// Begins to follow an order at a place, or goes on at another one because messages in between were missed, or the
    /// order is another. Nothing from before can be recovered; [`Channels::next_notice`] has what is to be told.
    pub fn begin_anew(&mut self, position: Position) {
        let Position { epoch, offset } = position;
        let is_first = self.order.is_none();
        self.order = Some(SharedOrder {
            epoch,
            at: offset,
            forgotten: offset,
        });
        for (_, channel) in &mut self.slots {
            channel.begin_anew(offset);
        }
        self.history_bytes = 0;
        self.next_notice_slot = if is_first { usize::MAX } else { 0 };
    }

    /// What the subscribers of one more channel are told since [`Channels::begin_anew`].
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

    /// All places up to this one are read, of whatever shard they are.
    pub fn advance(&mut self, at: u64) {
        if let Some(order) = &mut self.order {
            order.at = order.at.max(at);
        }
    }

    /// Messages up to here may be missing in channels that begin now.
    pub fn forget(&mut self, place: u64) {
        if let Some(order) = &mut self.order {
            order.forget(place);
        }
    }

    /// Whether something may be given to the order: everything that [`Channels::publish`] asks.
    ///
    /// # Errors
    /// When the name, the data or the rate is not one that may be.
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

    /// Takes a message out of the order. It was examined by the hub that put it there, whose rules may be others.
    ///
    /// # Errors
    /// When it is none, or there are too many channels.
    pub fn take(
        &mut self,
        now_ms: u64,
        name: &str,
        data: &str,
        at: u64,
    ) -> Result<Published, HubRefusal> {
        self.advance(at);
        check_name(name)?;
        check_json(data)?;
        let place = self.place(name);
        if let Ok(Some(slot)) = place {
            return self.put(now_ms, slot, data.trim(), at);
        }
        if let Some(order) = &mut self.order {
            order.forget(at);
        }
        place.map(|_| Published::Unheard)
    }
}

#[cfg(test)]
mod tests;
