//! The last messages of a channel, for recovery.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::message::HubMessage;
use crate::rules::HistoryLimits;

/// Messages of a channel in order, up to its newest.
#[derive(Debug)]
pub(crate) struct History {
    /// Everything after this offset is kept.
    forgotten: u64,
    messages: VecDeque<(u64, Arc<HubMessage>)>,
    bytes: usize,
}

impl History {
    /// An empty history that begins after an offset.
    pub(crate) fn after_offset(forgotten: u64) -> Self {
        Self {
            forgotten,
            messages: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// When the newest message expires, ms.
    pub(crate) fn expires_at(&self, limits: &HistoryLimits) -> u64 {
        let newest = self.messages.back();
        newest.map_or(0, |(at, _)| at.saturating_add(limits.age_ms_max))
    }

    /// Appends a channel's newest message. `room` is what the histories of all channels have left. A channel that needs
    /// more drops its own messages; if the message still does not fit, nothing can be recovered.
    pub(crate) fn push(
        &mut self,
        now_ms: u64,
        message: &Arc<HubMessage>,
        limits: &HistoryLimits,
        room: usize,
    ) {
        let len = message.size();
        let bytes_max = limits.bytes_max.min(self.bytes + room);
        if limits.messages_max == 0 || len > bytes_max {
            self.messages = VecDeque::new();
            self.bytes = 0;
            self.forgotten = self.forgotten.max(message.offset());
            return;
        }
        self.prune(now_ms, limits);
        while self.messages.len() >= limits.messages_max || self.bytes + len > bytes_max {
            self.forget_oldest();
        }
        self.bytes += len;
        self.messages.push_back((now_ms, Arc::clone(message)));
    }

    /// Drops expired messages.
    pub(crate) fn prune(&mut self, now_ms: u64, limits: &HistoryLimits) {
        while let Some((at, _)) = self.messages.front()
            && at.saturating_add(limits.age_ms_max) <= now_ms
        {
            self.forget_oldest();
        }
        if self.messages.is_empty() {
            self.messages = VecDeque::new();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((_, message)) = self.messages.pop_front() {
            self.bytes -= message.size();
            // What was recalled may have gaps.
            self.forgotten = self.forgotten.max(message.offset());
        }
    }

    /// Everything after `offset`, if complete.
    pub(crate) fn after(&self, offset: u64) -> Option<Vec<Arc<HubMessage>>> {
        let skipped = || {
            self.messages
                .partition_point(|(_, message)| message.offset() <= offset)
        };
        (offset >= self.forgotten).then(|| self.take_from(skipped()))
    }

    /// Everything up to this offset may be incomplete.
    pub(crate) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// The offset of the newest expired message; 0 if there is none.
    pub(crate) fn expired(&self, now_ms: u64, limits: &HistoryLimits) -> u64 {
        let mut messages = self.messages.iter().rev();
        let expired = messages.find(|(at, _)| at.saturating_add(limits.age_ms_max) <= now_ms);
        expired.map_or(0, |(_, message)| message.offset())
    }

    /// All messages that have not expired, with their times in ms.
    pub(crate) fn remembered(
        &self,
        now_ms: u64,
        limits: &HistoryLimits,
    ) -> impl Iterator<Item = &(u64, Arc<HubMessage>)> {
        let age_ms_max = limits.age_ms_max;
        let messages = self.messages.iter();
        messages.filter(move |(at, _)| at.saturating_add(age_ms_max) > now_ms)
    }

    /// The newest `count`.
    pub(crate) fn newest(&self, count: usize) -> Vec<Arc<HubMessage>> {
        self.take_from(self.messages.len().saturating_sub(count))
    }

    fn take_from(&self, skipped: usize) -> Vec<Arc<HubMessage>> {
        let messages = self.messages.iter().skip(skipped);
        messages.map(|(_, message)| Arc::clone(message)).collect()
    }
}
