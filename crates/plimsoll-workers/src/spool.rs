//! Numbered messages of a worker, kept until the coordinator has them.

use std::collections::VecDeque;

use crate::message::Numbered;

/// Messages that may be pending: more seconds than a worker lives without its coordinator.
pub(crate) const SPOOL_MAX: usize = 32;

/// What was not received yet, in order.
#[derive(Debug, Default)]
pub(crate) struct Spool {
    /// Number of the first in `pending`.
    first: u64,
    pending: VecDeque<Numbered>,
    /// Number of the next to be sent on this connection.
    cursor: u64,
}

impl Spool {
    /// Adds the next message. False where no more can be kept.
    pub(crate) fn push(&mut self, content: Numbered) -> bool {
        if self.pending.len() >= SPOOL_MAX {
            return false;
        }
        self.pending.push_back(content);
        true
    }

    /// The next message that was not sent on this connection, with its number.
    pub(crate) fn next(&mut self) -> Option<(u64, Numbered)> {
        let index = usize::try_from(self.cursor - self.first).ok()?;
        let content = self.pending.get(index)?.clone();
        let number = self.cursor;
        self.cursor += 1;
        Some((number, content))
    }

    /// The coordinator has all messages below `next`.
    pub(crate) fn received(&mut self, next: u64) {
        while self.first < next && self.pending.pop_front().is_some() {
            self.first += 1;
        }
        self.cursor = self.cursor.max(self.first);
    }

    /// On another connection everything that was not received is sent again.
    pub(crate) fn rewind(&mut self) {
        self.cursor = self.first;
    }

    /// Whether everything was received.
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_load::Used;

    use super::*;
    use crate::message::StayedUsers;

    fn content(cpu_us: u64) -> Numbered {
        Numbered::Ended {
            used: Used {
                cpu_us,
                rss_bytes_max: 0,
            },
            plan_error: None,
            stayed: StayedUsers::default(),
        }
    }

    fn numbers(spool: &mut Spool) -> Vec<u64> {
        std::iter::from_fn(|| spool.next())
            .map(|(number, content_of)| {
                assert_eq!(content_of, content(number));
                number
            })
            .collect()
    }

    #[test]
    fn what_was_not_received_is_sent_again_on_another_connection() {
        let mut spool = Spool::default();
        for number in 0..4 {
            assert!(spool.push(content(number)));
        }
        assert_eq!(numbers(&mut spool), [0, 1, 2, 3]);
        assert_eq!(numbers(&mut spool), [0_u64; 0]);
        spool.received(2);
        spool.rewind();
        assert!(spool.push(content(4)));
        assert_eq!(numbers(&mut spool), [2, 3, 4]);
        spool.received(1);
        assert!(!spool.is_empty());
        spool.received(5);
        assert!(spool.is_empty());
        assert!(spool.push(content(5)));
        assert_eq!(numbers(&mut spool), [5]);
    }

    #[test]
    fn it_is_bounded() {
        let mut spool = Spool::default();
        for number in 0..SPOOL_MAX as u64 {
            assert!(spool.push(content(number)));
        }
        assert!(!spool.push(content(0)));
        spool.received(1);
        assert!(spool.push(content(SPOOL_MAX as u64)));
    }
}
