//! The output queue of one client: bounded, whatever the client does.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use plimsoll_wire::websocket::deflate::Deflater;

use super::AudienceLimits;
use super::missed::Missed;
use crate::channels::ChannelRef;
use crate::message::{ClientFormat, HubMessage};

/// A queued item.
#[derive(Debug)]
pub(super) enum SlotItem {
    /// A message that is shared with other clients, and its length in this client's format.
    Message(Arc<HubMessage>, usize),
    /// The same, for several subscriptions of the client: a newer message of one of them does not replace it.
    Shared(Arc<HubMessage>, usize),
    /// A message of a replay: counted for all clients together, and not dropped.
    Missed(Missed),
    /// Bytes for this client only.
    Own(Bytes),
}

impl SlotItem {
    /// Its share of the limits, in messages and bytes.
    fn size(&self) -> (usize, usize) {
        match self {
            Self::Message(_, len) | Self::Shared(_, len) => (1, *len),
            Self::Missed(_) => (0, 0),
            Self::Own(bytes) => (1, bytes.len()),
        }
    }

    /// Whether it is a message of this channel.
    fn is_of(&self, channel: ChannelRef) -> bool {
        match self {
            Self::Message(message, _) | Self::Shared(message, _) => message.channel() == channel,
            Self::Missed(message) => message.channel() == channel,
            Self::Own(_) => false,
        }
    }
}

/// The output queue of one client.
#[derive(Debug, Default)]
pub(super) struct ClientSlot {
    items: VecDeque<SlotItem>,
    /// Bytes of the first item that are written; once begun, it cannot be dropped.
    written: usize,
    /// Messages and bytes that count towards the limits.
    size: (usize, usize),
}

impl ClientSlot {
    fn has_capacity(&self, len: usize, limits: &AudienceLimits) -> bool {
        let (count, bytes) = self.size;
        count == 0 || (count < limits.waiting_max && bytes + len <= limits.waiting_bytes_max)
    }

    /// Appends an item whose first `written` bytes are written; whether there was room.
    pub(super) fn push(&mut self, item: SlotItem, written: usize, limits: &AudienceLimits) -> bool {
        let has_room = self.has_capacity(item.size().1, limits);
        if has_room {
            self.put(item, written);
        }
        has_room
    }

    /// Appends a message, drops the one that it replaces, and then the oldest until there is room; returns how many
    /// were dropped. If only undroppable items are left, the new one itself is dropped.
    pub(super) fn push_newest(
        &mut self,
        item: SlotItem,
        written: usize,
        limits: &AudienceLimits,
    ) -> u64 {
        let mut dropped = 0;
        let from = self.droppable();
        if let SlotItem::Message(newest, _) = &item {
            let older = self.items.iter().skip(from).position(
                |item| matches!(item, SlotItem::Message(older, _) if older.channel() == newest.channel()),
            );
            if let Some(at) = older {
                self.remove(from + at);
                dropped += 1;
            }
        }
        while !self.has_capacity(item.size().1, limits) {
            dropped += 1;
            let oldest = self
                .items
                .iter()
                .skip(from)
                .position(|item| matches!(item, SlotItem::Message(..) | SlotItem::Shared(..)));
            match oldest {
                Some(at) => self.remove(from + at),
                None => return dropped,
            }
        }
        self.put(item, written);
        dropped
    }

    /// The queued message of this offset, if any, stands for another subscription too.
    pub(super) fn share(&mut self, offset: u64) {
        let queued = self.items.iter_mut().rev().find(
            |item| matches!(item, SlotItem::Message(message, _) if message.offset() == offset),
        );
        if let Some(item) = queued
            && let SlotItem::Message(message, len) = item
        {
            *item = SlotItem::Shared(Arc::clone(message), *len);
        }
    }

    /// Queued messages and bytes that count towards the limits.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> (usize, usize) {
        self.size
    }

    /// Drops queued messages of a channel, except a partially written one; returns their number, and whether the queue
    /// is empty.
    pub(super) fn forget(&mut self, channel: ChannelRef) -> (u64, bool) {
        let (mut index, begun, mut forgotten) = (0, self.droppable(), 0);
        let size = &mut self.size;
        self.items.retain(|item| {
            let is_meant = index >= begun && item.is_of(channel);
            index += 1;
            if is_meant {
                forgotten += 1;
                *size = less(*size, item);
            }
            !is_meant
        });
        (forgotten, self.items.is_empty())
    }

    /// Drops queued items, except a partially written one; returns the number of messages, and whether the queue is
    /// empty.
    pub(super) fn forget_all(&mut self) -> (u64, bool) {
        let begun = self.droppable();
        let mut forgotten = 0;
        for item in self.items.drain(begun..) {
            forgotten += u64::from(!matches!(item, SlotItem::Own(_)));
            self.size = less(self.size, &item);
        }
        (forgotten, self.items.is_empty())
    }

    /// Index of the first item that is not partially written.
    fn droppable(&self) -> usize {
        usize::from(self.written > 0)
    }

    /// Appends an item without a check. `written` only applies if it is the first.
    pub(super) fn put(&mut self, item: SlotItem, written: usize) {
        if self.items.is_empty() {
            self.written = written;
        }
        let (count, bytes) = item.size();
        self.size = (self.size.0 + count, self.size.1 + bytes);
        self.items.push_back(item);
    }

    fn remove(&mut self, at: usize) {
        if let Some(item) = self.items.remove(at) {
            self.size = less(self.size, &item);
        }
    }

    /// Writes as much as possible; whether the queue is empty.
    pub(super) fn flush(
        &mut self,
        format: ClientFormat,
        deflater: &mut Option<Deflater>,
        mut write: impl FnMut(&[u8]) -> usize,
    ) -> bool {
        while let Some(item) = self.items.front() {
            let bytes = match item {
                SlotItem::Message(message, _) | SlotItem::Shared(message, _) => {
                    message.bytes(format, deflater)
                }
                SlotItem::Missed(message) => message.bytes(format, deflater),
                SlotItem::Own(bytes) => bytes,
            };
            let left = &bytes[self.written..];
            let taken = write(left);
            if taken < left.len() {
                self.written += taken;
                return false;
            }
            self.written = 0;
            self.remove(0);
        }
        true
    }
}

/// The size without an item.
fn less((count, bytes): (usize, usize), item: &SlotItem) -> (usize, usize) {
    let (its_count, its_bytes) = item.size();
    (count - its_count, bytes - its_bytes)
}
