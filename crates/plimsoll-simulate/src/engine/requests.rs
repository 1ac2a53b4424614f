//! Requests to tiers in one array, whose places are used again, and queues of them.

use super::NOTHING;

/// Most requests at once: 160 MB.
const REQUESTS_MAX: usize = 4_000_000;

/// Set in `parent`: a visit waits, not a request.
pub(super) const OF_VISIT: u32 = 1 << 31;

/// The request has a slot of its tier.
pub(super) const HAS_SLOT: u8 = 1;
/// It has failed, or a call of it.
pub(super) const FAILED: u8 = 2;
/// The calls of its step have begun.
pub(super) const IN_STEP: u8 = 4;
/// It is answered without calls.
pub(super) const HIT: u8 = 8;

/// A request to a tier.
#[derive(Clone, Copy, Debug)]
pub(super) struct TierRequest {
    /// When it reached its tier.
    pub(super) arrived_ns: u64,
    /// How long its answer is on the way.
    pub(super) back_ns: u64,
    /// The request or the visit that waits for it; nothing when it was given up.
    pub(super) parent: u32,
    /// The next in its queue, or the next free place.
    pub(super) next: u32,
    /// Its step, an index of all steps of the world.
    pub(super) step: u32,
    /// Calls of the step that are to be made; of a parallel one, whose answers are missing.
    pub(super) left: u32,
    pub(super) tier: u16,
    pub(super) flags: u8,
}

/// Requests by their index.
#[derive(Debug)]
pub(super) struct Requests {
    rows: Vec<TierRequest>,
    first_free: u32,
}

impl Default for Requests {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            first_free: NOTHING,
        }
    }
}

impl Requests {
    /// Adds a request; `None` when there are too many.
    #[inline]
    pub(super) fn add(&mut self, request: TierRequest) -> Option<u32> {
        if self.first_free != NOTHING {
            let index = self.first_free;
            let place = self.at_mut(index);
            let next_free = place.next;
            *place = request;
            self.first_free = next_free;
            return Some(index);
        }
        if self.rows.len() >= REQUESTS_MAX {
            return None;
        }
        let index = u32::try_from(self.rows.len()).ok()?;
        self.rows.push(request);
        Some(index)
    }

    /// Takes a request away.
    #[inline]
    pub(super) fn remove(&mut self, index: u32) -> TierRequest {
        let next_free = self.first_free;
        let place = self.at_mut(index);
        let request = *place;
        place.next = next_free;
        self.first_free = index;
        request
    }

    #[inline]
    pub(super) fn at(&self, index: u32) -> &TierRequest {
        &self.rows[index as usize]
    }

    #[inline]
    pub(super) fn at_mut(&mut self, index: u32) -> &mut TierRequest {
        &mut self.rows[index as usize]
    }
}

/// Requests in the order of their arrival, linked by their `next`.
#[derive(Debug)]
pub(super) struct RequestQueue {
    first: u32,
    last: u32,
    len: u32,
}

impl RequestQueue {
    pub(super) fn new() -> Self {
        Self {
            first: NOTHING,
            last: NOTHING,
            len: 0,
        }
    }

    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// The first, which stays.
    pub(super) fn first(&self) -> Option<u32> {
        (self.len > 0).then_some(self.first)
    }

    #[inline]
    pub(super) fn push(&mut self, requests: &mut Requests, index: u32) {
        requests.at_mut(index).next = NOTHING;
        if self.len == 0 {
            self.first = index;
        } else {
            requests.at_mut(self.last).next = index;
        }
        self.last = index;
        self.len += 1;
    }

    #[inline]
    pub(super) fn pop(&mut self, requests: &Requests) -> Option<u32> {
        let first = self.first()?;
        self.first = requests.at(first).next;
        self.len -= 1;
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(arrived_ns: u64) -> TierRequest {
        TierRequest {
            arrived_ns,
            back_ns: 0,
            parent: NOTHING,
            next: NOTHING,
            step: 0,
            left: 0,
            tier: 0,
            flags: 0,
        }
    }

    #[test]
    fn places_are_used_again() {
        let mut requests = Requests::default();
        let first = requests.add(request(1)).unwrap();
        let second = requests.add(request(2)).unwrap();
        assert_eq!(requests.remove(first).arrived_ns, 1);
        assert_eq!(requests.add(request(3)), Some(first));
        assert_eq!(requests.at(second).arrived_ns, 2);
        assert_eq!(requests.at(first).arrived_ns, 3);
        assert_eq!(requests.rows.len(), 2);
    }

    #[test]
    fn a_queue_keeps_the_order() {
        let mut requests = Requests::default();
        let mut queue = RequestQueue::new();
        let added: Vec<u32> = (0..4)
            .map(|at| requests.add(request(at)).unwrap())
            .collect();
        for index in &added {
            queue.push(&mut requests, *index);
        }
        assert_eq!((queue.len(), queue.first()), (4, Some(added[0])));
        let popped: Vec<u32> = std::iter::from_fn(|| queue.pop(&requests)).collect();
        assert_eq!(popped, added);
        assert_eq!(queue.first(), None);
        queue.push(&mut requests, added[2]);
        assert_eq!(queue.pop(&requests), Some(added[2]));
    }
}
