//! Puts requests into the order of their beginnings, in bounded memory.
//!
//! A log is in the order of ends, so a request that took long comes late. How late at most is known from the first
//! pass: whatever began longer before the latest one than that can be written.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Most bytes of rows that wait.
const WAITING_LEN_MAX: usize = 64 << 20;
/// What a row costs beside its path, bytes.
const ROW_LEN: usize = 64;

/// Rows that wait for earlier ones.
#[derive(Debug)]
pub(super) struct WaitingRows {
    disorder_ms: i64,
    len_max: usize,
    waiting: BinaryHeap<Reverse<(i64, u64, String)>>,
    len: usize,
    number: u64,
    latest_ms: i64,
    written_ms: i64,
    /// Rows that were written after one that began later.
    pub(super) late: u64,
}

impl WaitingRows {
    pub(super) fn new(disorder_ms: i64) -> Self {
        Self {
            disorder_ms,
            len_max: WAITING_LEN_MAX,
            waiting: BinaryHeap::new(),
            len: 0,
            number: 0,
            latest_ms: i64::MIN,
            written_ms: i64::MIN,
            late: 0,
        }
    }

    /// Takes a row; calls `write` with those that no later one can precede.
    pub(super) fn push(&mut self, began_ms: i64, path: String, mut write: impl FnMut(i64, &str)) {
        self.latest_ms = self.latest_ms.max(began_ms);
        self.len += path.len() + ROW_LEN;
        // Rows of one moment keep their order.
        self.number += 1;
        self.waiting.push(Reverse((began_ms, self.number, path)));
        let ready_ms = self.latest_ms.saturating_sub(self.disorder_ms);
        while let Some(Reverse((began_ms, _, _))) = self.waiting.peek()
            && (*began_ms < ready_ms || self.len > self.len_max)
        {
            self.pop(&mut write);
        }
    }

    /// Calls `write` with all that wait.
    pub(super) fn end(&mut self, mut write: impl FnMut(i64, &str)) {
        while !self.waiting.is_empty() {
            self.pop(&mut write);
        }
    }

    fn pop(&mut self, write: &mut impl FnMut(i64, &str)) {
        if let Some(Reverse((began_ms, _, path))) = self.waiting.pop() {
            self.len -= path.len() + ROW_LEN;
            self.late += u64::from(began_ms < self.written_ms);
            self.written_ms = self.written_ms.max(began_ms);
            write(began_ms, &path);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn order_of(moments: &[i64], disorder_ms: i64, len_max: usize) -> (Vec<i64>, u64) {
        let mut rows = WaitingRows::new(disorder_ms);
        rows.len_max = len_max;
        let mut written = Vec::new();
        for at in moments {
            rows.push(*at, "/".to_owned(), |at, _| written.push(at));
        }
        rows.end(|at, _| written.push(at));
        (written, rows.late)
    }

    proptest! {
        #[test]
        fn rows_come_in_order(moments in prop::collection::vec(0..5_000_i64, 0..60)) {
            let mut latest = i64::MIN;
            let mut disorder = 0;
            for at in &moments {
                latest = latest.max(*at);
                disorder = disorder.max(latest - at);
            }
            let (written, late) = order_of(&moments, disorder, WAITING_LEN_MAX);
            let mut sorted = moments.clone();
            sorted.sort_unstable();
            prop_assert_eq!(written, sorted);
            prop_assert_eq!(late, 0);
        }
    }

    #[test]
    fn memory_is_bounded_and_what_came_too_late_is_counted() {
        let (written, late) = order_of(&[10, 20, 30, 5], 1_000, 2 * ROW_LEN);
        assert_eq!(written.len(), 4);
        assert_eq!(late, 1);
    }
}
