//! What waits for one client: bounded, whatever the client does.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use plimsoll_wire::websocket::deflate::Deflater;

use super::AudienceLimits;
use super::missed::Missed;
use crate::channels::ChannelRef;
use crate::message::{ClientFormat, HubMessage};

/// Something that waits.
#[derive(Debug)]
pub(super) enum SlotItem {
    /// A message that others get too, and its length as this client reads it.
    Message(Arc<HubMessage>, usize),
    /// One that it missed, out of a history: counted for all clients together, and not dropped.
    Missed(Missed),
    /// For this client alone.
    Own(Bytes),
}

impl SlotItem {
    /// What it counts in messages and in bytes.
    fn size(&self) -> (usize, usize) {
        match self {
            Self::Message(_, len) => (1, *len),
            Self::Missed(_) => (0, 0),
            Self::Own(bytes) => (1, bytes.len()),
        }
    }

    /// Whether it is a message of this channel.
    fn is_of(&self, channel: ChannelRef) -> bool {
        match self {
            Self::Message(message, _) => message.channel() == channel,
            Self::Missed(message) => message.channel() == channel,
            Self::Own(_) => false,
        }
    }
}

/// What waits for one client.
#[derive(Debug, Default)]
pub(super) struct ClientSlot {
    items: VecDeque<SlotItem>,
    /// Bytes of the first that are written; it can then no longer be dropped.
    written: usize,
    /// Messages and bytes that count.
    size: (usize, usize),
}

impl ClientSlot {
    fn has_capacity(&self, len: usize, limits: &AudienceLimits) -> bool {
        let (count, bytes) = self.size;
        count == 0 || (count < limits.waiting_max && bytes + len <= limits.waiting_bytes_max)
    }

    /// Puts something at the end, of which so many bytes are written; whether there was room.
    pub(super) fn push(&mut self, item: SlotItem, written: usize, limits: &AudienceLimits) -> bool {
        let has_room = self.has_capacity(item.size().1, limits);
        if has_room {
            self.put(item, written);
        }
        has_room
    }

    /// Puts a message at the end and drops what it replaces, and then the oldest, until there is room; says how many
    /// were dropped. If only what may not be dropped is left, that is the new one itself.
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
                .position(|item| matches!(item, SlotItem::Message(..)));
            match oldest {
                Some(at) => self.remove(from + at),
                None => return dropped,
            }
        }
        self.put(item, written);
        dropped
    }

    /// Messages and bytes that wait, of those that count.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> (usize, usize) {
        self.size
    }

    /// Drops what waits of a channel, but for what is begun; says how much that was, and whether nothing is left.
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

    /// Drops what waits, but for what is begun; says how many messages that were, and whether nothing is left.
    pub(super) fn forget_all(&mut self) -> (u64, bool) {
        let begun = self.droppable();
        let mut forgotten = 0;
        for item in self.items.drain(begun..) {
            forgotten += u64::from(!matches!(item, SlotItem::Own(_)));
            self.size = less(self.size, &item);
        }
        (forgotten, self.items.is_empty())
    }

    /// The first that is not begun.
    fn droppable(&self) -> usize {
        usize::from(self.written > 0)
    }

    /// Puts something at the end, whatever room there is. Bytes of it are written only if it is the first.
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

    /// Writes what is taken; whether nothing is left.
    pub(super) fn flush(
        &mut self,
        format: ClientFormat,
        deflater: &mut Option<Deflater>,
        mut write: impl FnMut(&[u8]) -> usize,
    ) -> bool {
        while let Some(item) = self.items.front() {
            let bytes = match item {
                SlotItem::Message(message, _) => message.bytes(format, deflater),
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

/// What is left when something goes.
fn less((count, bytes): (usize, usize), item: &SlotItem) -> (usize, usize) {
    let (its_count, its_bytes) = item.size();
    (count - its_count, bytes - its_bytes)
}
