//! Events by their time: a heap of four children, in one array of numbers.
//!
//! A key is the time of an event (ns), its order among those of the same time, and the event itself, in this order of bits: a
//! comparison is one of numbers, and a sift touches few cache lines.

/// Children of a node: half as many levels as with two, and their keys are in one cache line.
const CHILDREN: usize = 4;

/// Events that have not happened yet.
#[derive(Debug, Default)]
pub(crate) struct EventHeap {
    keys: Vec<u128>,
    /// Order of the next event; it wraps after four thousand million, which reorders events of one nanosecond at most.
    order: u32,
}

impl EventHeap {
    /// Adds an event.
    #[inline]
    pub(crate) fn push(&mut self, at_ns: u64, event: u32) {
        let key = (u128::from(at_ns) << 64) | (u128::from(self.order) << 32) | u128::from(event);
        self.order = self.order.wrapping_add(1);
        let mut index = self.keys.len();
        self.keys.push(key);
        while index > 0 {
            let above = (index - 1) / CHILDREN;
            let above_key = self.keys[above];
            if above_key <= key {
                break;
            }
            self.keys[index] = above_key;
            index = above;
        }
        self.keys[index] = key;
    }

    /// The first event and its time; `None` when it is later than `until_ns`, or there is none.
    #[inline]
    pub(crate) fn pop_until(&mut self, until_ns: u64) -> Option<(u64, u32)> {
        let first = *self.keys.first()?;
        let (at_ns, event) = split(first);
        if at_ns > until_ns {
            return None;
        }
        let last = self.keys.pop()?;
        if !self.keys.is_empty() {
            self.sink(last);
        }
        Some((at_ns, event))
    }

    /// Number of events.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.keys.len()
    }

    /// Puts a key at the place of the first, and down to where it belongs.
    #[inline]
    fn sink(&mut self, key: u128) {
        let keys = self.keys.as_mut_slice();
        let len = keys.len();
        let mut index = 0;
        loop {
            let first = CHILDREN * index + 1;
            if first >= len {
                break;
            }
            let end = (first + CHILDREN).min(len);
            let (mut least, mut least_key) = (first, keys[first]);
            for (child, child_key) in (first + 1..end).zip(&keys[first + 1..end]) {
                if *child_key < least_key {
                    (least, least_key) = (child, *child_key);
                }
            }
            if key <= least_key {
                break;
            }
            keys[index] = least_key;
            index = least;
        }
        keys[index] = key;
    }
}

/// Time and event of a key.
#[expect(
    clippy::cast_possible_truncation,
    reason = "each takes the bits that are its own"
)]
fn split(key: u128) -> (u64, u32) {
    ((key >> 64) as u64, key as u32)
}

#[cfg(test)]
mod tests {
    use plimsoll_model::seed::Seed;
    use rand::RngExt as _;

    use super::*;

    #[test]
    fn events_come_in_the_order_of_their_times() {
        let mut random = Seed(3).generator();
        let mut heap = EventHeap::default();
        let mut expected = Vec::new();
        let mut found = Vec::new();
        for event in 0..5_000 {
            let at_ns: u64 = random.random_range(0..1_000);
            heap.push(at_ns, event);
            expected.push((at_ns, event));
        }
        // Equal times keep the order in which they were added.
        expected.sort_unstable();
        while let Some(event) = heap.pop_until(u64::MAX) {
            found.push(event);
        }
        assert_eq!(found, expected);
        assert_eq!(heap.len(), 0);
    }

    #[test]
    fn later_events_stay() {
        let mut heap = EventHeap::default();
        heap.push(20, 1);
        heap.push(10, 2);
        assert_eq!(heap.pop_until(9), None);
        assert_eq!(heap.pop_until(10), Some((10, 2)));
        assert_eq!(heap.pop_until(19), None);
        assert_eq!(heap.len(), 1);
    }
}
