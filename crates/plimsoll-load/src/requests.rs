//! Requests of one loop, from the moment they are due to their end: their time-outs, and the queue for a connection.
//!
//! Every request has a deadline, and at most one place in the queue; both end when it is removed.

mod redirect;
mod request;

use std::collections::BTreeSet;
use std::ops::{Index, IndexMut};

use slab::Slab;

use self::request::{BY_DUE, BY_WAIT};
use crate::due::NEVER;
use crate::list::List;

pub(crate) use self::request::Request;

/// The requests of a loop that have not ended.
#[derive(Debug)]
pub(crate) struct Requests {
    entries: Slab<Request>,
    /// Requests with the plan's time-out, in the order in which they were due.
    by_due: List<BY_DUE>,
    /// Requests with a time-out of their own, by deadline.
    by_expiry: BTreeSet<(u64, u32)>,
    /// Requests that wait for a connection, in order.
    waiting: List<BY_WAIT>,
    waiting_max: usize,
    timeout_ns: u64,
}

impl Requests {
    /// With the plan's time-out, and the limit of the queue.
    pub(crate) fn new(timeout_ns: u64, waiting_max: usize) -> Self {
        Self {
            entries: Slab::new(),
            by_due: List::default(),
            by_expiry: BTreeSet::new(),
            waiting: List::default(),
            waiting_max,
            timeout_ns,
        }
    }

    /// Adds a request; its deadline runs from the moment it is due. Returns its id.
    #[inline]
    pub(crate) fn insert(&mut self, request: Request) -> u32 {
        let own_expiry = request.own_expiry();
        let id = self.entries.insert(request);
        let id = u32::try_from(id).expect("requests at once are far below 2^32");
        match own_expiry {
            Some(expiry) => drop(self.by_expiry.insert((expiry, id))),
            None => self.by_due.push_back(&mut self.entries, id),
        }
        id
    }

    /// Takes out a request that has ended: it leaves all lists.
    #[inline]
    pub(crate) fn remove(&mut self, id: u32) -> Request {
        if self.entries[id as usize].is_waiting() {
            self.leave_queue(id);
        }
        if let Some(expiry) = self.entries[id as usize].own_expiry() {
            self.by_expiry.remove(&(expiry, id));
        } else {
            self.by_due.remove(&mut self.entries, id);
        }
        self.entries.remove(id as usize)
    }

    #[inline]
    pub(crate) fn get(&self, id: u32) -> Option<&Request> {
        self.entries.get(id as usize)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut Request> {
        self.entries.get_mut(id as usize)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Queues a request for a connection. Returns whether there was room.
    pub(crate) fn enqueue(&mut self, id: u32) -> bool {
        if self.waiting.len() >= self.waiting_max {
            return false;
        }
        self.entries[id as usize].set_waiting(true);
        self.waiting.push_back(&mut self.entries, id);
        true
    }

    /// Takes the request from the queue that has waited longest.
    #[inline]
    pub(crate) fn dequeue(&mut self) -> Option<u32> {
        let id = self.waiting.first()?;
        self.leave_queue(id);
        Some(id)
    }

    /// Number of requests in the queue.
    #[inline]
    pub(crate) fn queue_len(&self) -> usize {
        self.waiting.len()
    }

    fn leave_queue(&mut self, id: u32) {
        self.waiting.remove(&mut self.entries, id);
        self.entries[id as usize].set_waiting(false);
    }

    /// When the next request times out.
    #[inline]
    pub(crate) fn next_expiry(&self) -> u64 {
        let due = self.by_due.first().map_or(NEVER, |id| {
            self.entries[id as usize]
                .due()
                .saturating_add(self.timeout_ns)
        });
        let own = self.by_expiry.first().map_or(NEVER, |(expiry, _)| *expiry);
        due.min(own)
    }

    /// A request that has timed out at `now`.
    pub(crate) fn first_expired(&self, now: u64) -> Option<u32> {
        let has_expired = |id: &u32| {
            let due = self.entries[*id as usize].due();
            due.saturating_add(self.timeout_ns) <= now
        };
        let own = self.by_expiry.first().filter(|(expiry, _)| *expiry <= now);
        let by_due = self.by_due.first().filter(has_expired);
        by_due.or(own.map(|(_, id)| *id))
    }

    /// Any request, oldest first.
    pub(crate) fn first(&self) -> Option<u32> {
        let own = self.by_expiry.first().map(|(_, id)| *id);
        self.by_due.first().or(own)
    }
}

impl Index<u32> for Requests {
    type Output = Request;

    #[inline]
    fn index(&self, id: u32) -> &Request {
        &self.entries[id as usize]
    }
}

impl IndexMut<u32> for Requests {
    #[inline]
    fn index_mut(&mut self, id: u32) -> &mut Request {
        &mut self.entries[id as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::due::NOBODY;
    use crate::virtual_users::UserRequest;

    fn with_expiry(due: u64, expiry: u64) -> Request {
        let mut call = UserRequest::empty();
        call.set_expiry(Some(expiry));
        Request::of_user(due, 0, call)
    }

    #[test]
    fn requests_expire_by_the_time_out_of_the_plan_or_their_own() {
        let mut requests = Requests::new(100, 8);
        let plain = requests.insert(Request::new(10, NOBODY, 0));
        let own = requests.insert(with_expiry(10, 60));
        assert_eq!(
            (requests.next_expiry(), requests.first_expired(59)),
            (60, None)
        );
        assert_eq!(requests.first_expired(60), Some(own));
        requests.remove(own);
        assert_eq!(requests.next_expiry(), 110);
        assert_eq!(requests.first_expired(109), None);
        assert_eq!(requests.first_expired(110), Some(plain));
        requests.remove(plain);
        assert!(requests.is_empty());
        assert_eq!((requests.next_expiry(), requests.first()), (NEVER, None));
    }

    #[test]
    fn the_queue_is_bounded_and_a_request_that_ends_leaves_it() {
        let mut requests = Requests::new(100, 2);
        let ids = [0, 1, 2].map(|due| requests.insert(Request::new(due, NOBODY, 0)));
        assert_eq!(ids.map(|id| requests.enqueue(id)), [true, true, false]);
        requests.remove(ids[0]);
        assert_eq!(
            (requests.queue_len(), requests.dequeue()),
            (1, Some(ids[1]))
        );
        assert_eq!(requests.dequeue(), None);
        assert!(requests.enqueue(ids[1]), "it may wait again");
    }
}
