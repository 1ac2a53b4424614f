//! A response in progress: one request fetches, all others read along.
//!
//! The bytes are in one growing buffer; a follower holds only its read position, so a slow one costs nothing. Wakers
//! are called outside all locks.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;

use bytes::Bytes;
use slab::Slab;

use super::budget::{StoreBudget, allocated};
use super::lock;

/// Maximum number of bytes preallocated from an announced length.
const AHEAD_MAX: usize = 1 << 20;

/// Progress before there are body bytes.
#[derive(Debug)]
pub enum HeadPoll<H> {
    /// Nothing yet; the waker is woken when there is.
    Wait,
    /// The head has arrived; the body is read with [`Follower::copy`].
    Head(Arc<H>),
    /// It is stored, or the fetch was abandoned: look up again.
    Again,
    /// It may not be shared: fetch separately.
    Alone,
    /// The fetch failed.
    Failed,
}

/// Result of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copied {
    /// This many bytes, at least one.
    Bytes(usize),
    /// Nothing yet; the waker is woken when there is.
    Wait,
    /// The body ended before the requested position: all of it was read.
    End,
    /// The rest will not arrive, or this reader is so far behind that its bytes were dropped.
    Broken,
}

/// How a fetch ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FillOutcome {
    /// Complete.
    Whole,
    /// Abandoned.
    Left,
    /// Not shareable.
    Alone,
    /// Failed.
    Failed,
}

#[derive(Debug)]
enum FillBody {
    Growing(VecDeque<u8>),
    Whole(Bytes),
}

#[derive(Debug)]
struct FillState<H> {
    head: Option<Arc<H>>,
    body: FillBody,
    /// Offset of the held bytes in the body: above 0 once it is too large to be stored.
    base: u64,
    ending: Option<FillOutcome>,
    waiting: Slab<Option<Waker>>,
}

/// One fetch of one key.
#[derive(Debug)]
pub(super) struct Fill<H> {
    pub(super) hash: u64,
    pub(super) key: Box<[u8]>,
    pub(super) variant: u64,
    /// The number of the last purge when the request was sent.
    pub(super) begun: u64,
    followers: AtomicUsize,
    /// Bytes of the budget that are released when the last reader leaves.
    charged: AtomicUsize,
    budget: Arc<StoreBudget>,
    state: Mutex<FillState<H>>,
}

impl<H> Fill<H> {
    pub(super) fn new(
        hash: u64,
        key: Box<[u8]>,
        variant: u64,
        begun: u64,
        budget: Arc<StoreBudget>,
    ) -> Self {
        let own = allocated(size_of::<Self>() + 16) + allocated(key.len());
        budget.take(own);
        Self {
            hash,
            key,
            variant,
            begun,
            followers: AtomicUsize::new(0),
            charged: AtomicUsize::new(own),
            budget,
            state: Mutex::new(FillState {
                head: None,
                body: FillBody::Growing(VecDeque::new()),
                base: 0,
                ending: None,
                waiting: Slab::new(),
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, FillState<H>> {
        lock(&self.state)
    }

    /// Publishes the head; `length` is the announced body length.
    pub(super) fn set_head(&self, head: Arc<H>, length: Option<usize>) {
        let mut state = self.lock();
        state.head = Some(head);
        if let (FillBody::Growing(body), Some(length)) = (&mut state.body, length) {
            body.reserve_exact(length.min(AHEAD_MAX));
        }
        wake(state);
    }

    /// Appends to the body. Beyond `kept_max` bytes only the last ones are held. Returns the total so far.
    pub(super) fn append(&self, bytes: &[u8], kept_max: usize) -> u64 {
        let mut state = self.lock();
        let FillState { body, base, .. } = &mut *state;
        let FillBody::Growing(body) = body else {
            return *base;
        };
        body.extend(bytes);
        let excess = body.len().saturating_sub(kept_max);
        body.drain(..excess);
        *base += excess as u64;
        let so_far = *base + body.len() as u64;
        if bytes.len() >= excess {
            self.charge(bytes.len() - excess);
        } else {
            self.refund(excess - bytes.len());
        }
        wake(state);
        so_far
    }

    /// The whole body; `None` if a part of it was dropped. The bytes stay available to readers until the last one
    /// leaves.
    pub(super) fn take_whole(&self) -> Option<Bytes> {
        let mut state = self.lock();
        if state.base > 0 {
            return None;
        }
        if let FillBody::Growing(body) = &mut state.body {
            let whole = Vec::from(std::mem::take(body)).into_boxed_slice();
            state.body = FillBody::Whole(Bytes::from(whole));
        }
        match &state.body {
            FillBody::Whole(whole) => {
                // From here on the stored object accounts for them.
                self.refund(whole.len());
                Some(whole.clone())
            }
            FillBody::Growing(_) => None,
        }
    }

    /// The first ending counts.
    pub(super) fn end(&self, ending: FillOutcome) {
        let mut state = self.lock();
        if state.ending.is_none() {
            state.ending = Some(ending);
            wake(state);
        }
    }

    /// Adds a follower, unless there are `max`.
    pub(super) fn join(&self, max: usize) -> bool {
        let count = |count: usize| (count < max).then_some(count + 1);
        self.followers
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, count)
            .is_ok()
    }

    /// Whether there is a follower.
    pub(super) fn is_followed(&self) -> bool {
        self.followers.load(Ordering::Acquire) > 0
    }

    fn charge(&self, bytes: usize) {
        self.budget.take(bytes);
        self.charged.fetch_add(bytes, Ordering::AcqRel);
    }

    fn refund(&self, bytes: usize) {
        self.charged.fetch_sub(bytes, Ordering::AcqRel);
        self.budget.give_back(bytes);
    }
}

impl<H> Drop for Fill<H> {
    fn drop(&mut self) {
        self.budget.give_back(*self.charged.get_mut());
    }
}

/// Wakes all waiting followers, after the lock is released.
fn wake<H>(mut state: MutexGuard<'_, FillState<H>>) {
    let wakers: Vec<Waker> = state
        .waiting
        .iter_mut()
        .filter_map(|(_, waker)| waker.take())
        .collect();
    drop(state);
    for waker in wakers {
        waker.wake();
    }
}

/// A reader of another request's fetch.
#[derive(Debug)]
pub struct Follower<H> {
    fill: Arc<Fill<H>>,
    place: Option<usize>,
}

impl<H> Follower<H> {
    /// Follows a joined fill.
    pub(super) fn new(fill: Arc<Fill<H>>) -> Self {
        Self { fill, place: None }
    }

    /// Polls the progress of the fetch.
    pub fn poll_head(&mut self, waker: &Waker) -> HeadPoll<H> {
        let mut state = self.fill.lock();
        if let Some(head) = &state.head {
            return HeadPoll::Head(Arc::clone(head));
        }
        match state.ending {
            Some(FillOutcome::Whole | FillOutcome::Left) => HeadPoll::Again,
            Some(FillOutcome::Alone) => HeadPoll::Alone,
            Some(FillOutcome::Failed) => HeadPoll::Failed,
            None => {
                wait(&mut state, &mut self.place, waker);
                HeadPoll::Wait
            }
        }
    }

    /// Copies body bytes from offset `from` on.
    pub fn copy(&mut self, from: u64, out: &mut [u8], waker: &Waker) -> Copied {
        let mut state = self.fill.lock();
        let Some(skipped) = from.checked_sub(state.base) else {
            return Copied::Broken;
        };
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        let (front, back) = match &state.body {
            FillBody::Growing(body) => body.as_slices(),
            FillBody::Whole(body) => (&body[..], &[][..]),
        };
        let rest_of_front = front.get(skipped..).unwrap_or_default();
        let rest_of_back = back
            .get(skipped.saturating_sub(front.len())..)
            .unwrap_or_default();
        let mut copied = 0;
        for rest in [rest_of_front, rest_of_back] {
            let room = &mut out[copied..];
            let count = rest.len().min(room.len());
            room[..count].copy_from_slice(&rest[..count]);
            copied += count;
        }
        match (copied, state.ending) {
            (0, Some(FillOutcome::Whole)) => Copied::End,
            (0, Some(_)) => Copied::Broken,
            (0, None) => {
                wait(&mut state, &mut self.place, waker);
                Copied::Wait
            }
            (count, _) => Copied::Bytes(count),
        }
    }
}

impl<H> Drop for Follower<H> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.fill.lock().waiting.remove(place);
        }
        self.fill.followers.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Registers the waker; one slot per follower.
fn wait<H>(state: &mut FillState<H>, place: &mut Option<usize>, waker: &Waker) {
    let place = *place.get_or_insert_with(|| state.waiting.insert(None));
    match &mut state.waiting[place] {
        Some(known) if known.will_wake(waker) => {}
        known => *known = Some(waker.clone()),
    }
}
