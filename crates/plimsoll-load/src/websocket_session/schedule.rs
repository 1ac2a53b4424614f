//! When something is due on the WebSockets of a loop: messages, deadlines of responses, and timers.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::due::NEVER;

/// Due work on users' WebSockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WebSocketTimer {
    /// Sends the keep-alive text on this connection of this generation.
    Beat(u32, u32),
    /// Reopens the WebSocket of this user, by its number.
    Reopen(u32, u64),
    /// Reopens one of a load from flags.
    Return(Lost),
    /// The user of the one on this connection of this generation drops.
    Drop(u32, u32),
    /// Cuts those of this index in the program, by the moment of this index there.
    Disconnect(u32, u32),
}

/// A lost WebSocket of a load from flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lost {
    /// Index of its path.
    pub(crate) path: u32,
    /// When it was lost, ns of run time.
    pub(crate) since: u64,
    /// Number of attempts to reopen it.
    pub(crate) tries: u32,
}

/// What is due on the WebSockets of a loop.
#[derive(Debug, Default)]
pub(super) struct MessageSchedule {
    /// Messages to be sent: when, on which connection of which generation.
    due: BinaryHeap<Reverse<(u64, u32, u32)>>,
    /// Pending responses with a deadline before the next message, in order of time: each with its connection, and when
    /// its message was due.
    expiries: VecDeque<(u64, u32, u64)>,
    /// Due work on users' WebSockets, and reconnects.
    timers: BinaryHeap<Reverse<(u64, WebSocketTimer)>>,
}

impl MessageSchedule {
    /// A message is due at a moment, on a connection of a generation.
    pub(super) fn push_message(&mut self, message: (u64, u32, u32)) {
        self.due.push(Reverse(message));
    }

    /// When the next message is due.
    #[inline]
    pub(super) fn next_message(&self) -> u64 {
        self.due.peek().map_or(NEVER, |next| next.0.0)
    }

    /// The next message, if it is due by `release`.
    pub(super) fn pop_message(&mut self, release: u64) -> Option<(u64, u32, u32)> {
        if self.next_message() > release {
            return None;
        }
        self.due.pop().map(|next| next.0)
    }

    /// The response to the message that was due at `due` has a deadline.
    pub(super) fn push_expiry(&mut self, deadline: u64, id: u32, due: u64) {
        self.expiries.push_back((deadline, id, due));
    }

    /// The next deadline of a response.
    #[inline]
    pub(super) fn next_expiry(&self) -> u64 {
        self.expiries.front().map_or(NEVER, |next| next.0)
    }

    /// A response whose deadline has passed: its connection, and when its message was due.
    pub(super) fn pop_expiry(&mut self, now: u64) -> Option<(u32, u64)> {
        let (_, id, due) = self.expiries.pop_front_if(|next| next.0 <= now)?;
        Some((id, due))
    }

    pub(super) fn push_timer(&mut self, at: u64, timer: WebSocketTimer) {
        self.timers.push(Reverse((at, timer)));
    }

    /// When the next timer ends.
    #[inline]
    pub(super) fn next_timer(&self) -> u64 {
        self.timers.peek().map_or(NEVER, |next| next.0.0)
    }

    /// The next timer that has ended.
    pub(super) fn pop_timer(&mut self, now: u64) -> Option<(u64, WebSocketTimer)> {
        if self.next_timer() > now {
            return None;
        }
        self.timers.pop().map(|next| next.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_taken_before_it_is_due() {
        let mut schedule = MessageSchedule::default();
        assert_eq!(schedule.next_message(), NEVER);
        assert_eq!(schedule.pop_message(NEVER - 1), None);
        schedule.push_message((20, 1, 0));
        schedule.push_message((10, 2, 0));
        assert_eq!(schedule.pop_message(9), None);
        assert_eq!(schedule.pop_message(10), Some((10, 2, 0)));
        assert_eq!(schedule.next_message(), 20);
        schedule.push_expiry(30, 1, 20);
        assert_eq!(
            (schedule.pop_expiry(29), schedule.pop_expiry(30)),
            (None, Some((1, 20)))
        );
        schedule.push_timer(40, WebSocketTimer::Beat(1, 0));
        assert_eq!(schedule.pop_timer(39), None);
        assert_eq!(
            schedule.pop_timer(40),
            Some((40, WebSocketTimer::Beat(1, 0)))
        );
    }
}
