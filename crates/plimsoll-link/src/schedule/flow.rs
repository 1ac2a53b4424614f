//! One direction of a connection.

use std::collections::VecDeque;

use plimsoll_model::seed::Seed;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Arrived, FlowEnd};

/// What a segment on its way costs beyond its bytes: otherwise a million segments of a byte would be a megabyte.
pub(super) const SEGMENT_PRICE: u64 = 64;

/// Segments on their way, and what has arrived of them.
#[derive(Debug)]
pub(super) struct Flow {
    /// In order, each due no earlier than those before it; segments due at one moment are one entry.
    on_way: VecDeque<Passage>,
    on_way_len: u64,
    arrived_len: u64,
    open_ns: u64,
    last_due_ns: u64,
    passed_ns: u64,
    end: Option<(u64, FlowEnd)>,
    random: Xoshiro256PlusPlus,
}

#[derive(Clone, Copy, Debug)]
struct Passage {
    due_ns: u64,
    len: u64,
}

impl Flow {
    pub(super) fn new(open_ns: u64, seed: Seed) -> Self {
        Self {
            on_way: VecDeque::new(),
            on_way_len: 0,
            arrived_len: 0,
            open_ns,
            last_due_ns: 0,
            passed_ns: 0,
            end: None,
            random: seed.generator(),
        }
    }

    /// Adds a segment that has passed the link's bandwidth at a moment.
    pub(super) fn add(&mut self, len: u64, passed_ns: u64, due_ns: u64) {
        let due_ns = due_ns.max(self.last_due_ns);
        self.last_due_ns = due_ns;
        self.passed_ns = passed_ns;
        self.on_way_len += len;
        match self.on_way.back_mut() {
            Some(last) if last.due_ns == due_ns => last.len += len,
            _ => self.on_way.push_back(Passage { due_ns, len }),
        }
    }

    /// Its end leaves after its last segment.
    pub(super) fn end(&mut self, now_ns: u64, one_way_ns: u64, end: FlowEnd) {
        let leaves_ns = now_ns.max(self.passed_ns);
        let due_ns = leaves_ns.saturating_add(one_way_ns).max(self.last_due_ns);
        if self.end.is_none() {
            self.end = Some((due_ns, end));
        }
    }

    pub(super) fn arrive(&mut self, now_ns: u64) -> Option<Arrived> {
        let first_due_ns = self.on_way.front()?.due_ns;
        let mut len = 0;
        while let Some(&passage) = self.on_way.front()
            && passage.due_ns <= now_ns
        {
            self.on_way.pop_front();
            len += passage.len;
        }
        if len == 0 {
            return None;
        }
        if self.on_way.is_empty() {
            // Idle connections hold no memory.
            self.on_way = VecDeque::new();
        }
        self.on_way_len -= len;
        self.arrived_len += len;
        Some(Arrived {
            len,
            late_ns: now_ns - first_due_ns,
        })
    }

    pub(super) fn deliver(&mut self, len: u64) {
        self.arrived_len = self.arrived_len.saturating_sub(len);
    }

    pub(super) fn ended(&self, now_ns: u64) -> Option<FlowEnd> {
        let (due_ns, end) = self.end?;
        let is_empty = self.on_way.is_empty() && self.arrived_len == 0;
        (is_empty && due_ns <= now_ns).then_some(end)
    }

    pub(super) fn is_ended(&self) -> bool {
        self.end.is_some()
    }

    pub(super) fn next_ns(&self) -> Option<u64> {
        let segment = self.on_way.front().map(|passage| passage.due_ns);
        segment.or(self.end.map(|(due_ns, _)| due_ns))
    }

    /// Bytes on their way and not delivered, with the price of their segments.
    pub(super) fn held(&self) -> u64 {
        self.on_way_len + self.arrived_len + SEGMENT_PRICE * self.on_way.len() as u64
    }

    pub(super) fn arrived_len(&self) -> u64 {
        self.arrived_len
    }

    /// From when on bytes enter.
    pub(super) fn open_ns(&self) -> u64 {
        self.open_ns
    }

    /// When the last segment has passed the link's bandwidth.
    pub(super) fn passed_ns(&self) -> u64 {
        self.passed_ns
    }

    /// When the segments on their way are due, in their order.
    #[cfg(test)]
    pub(super) fn dues(&self) -> impl Iterator<Item = u64> {
        self.on_way.iter().map(|passage| passage.due_ns)
    }

    pub(super) fn random(&mut self) -> &mut Xoshiro256PlusPlus {
        &mut self.random
    }
}
