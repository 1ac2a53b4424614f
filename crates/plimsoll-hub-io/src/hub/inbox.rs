//! Messages in flight to the clients of one loop.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use plimsoll_hub::HubMessage;
use plimsoll_hub::audience::ClientVisit;
use plimsoll_hub::channels::HubRefusal;
use plimsoll_net::clock::Nanoseconds;
use plimsoll_net::lock::lock;
use tokio::sync::Notify;

/// Maximum number of queued messages before publishing is refused. Concurrent publishers may exceed it by one each.
const MESSAGES_MAX: usize = 16_384;
/// Maximum size of the queued messages, bytes.
const BYTES_MAX: usize = 64 << 20;
/// Maximum batch that a loop takes.
const BATCH_MAX: usize = 64;

/// A message and when it was sent.
pub(crate) type Dated = (Nanoseconds, Arc<HubMessage>);

/// Outcome of a publication by a client of the loop that waited for another program.
#[derive(Debug)]
pub(crate) struct Letter {
    pub(crate) visit: ClientVisit,
    pub(crate) channel: String,
    pub(crate) id: Option<String>,
    pub(crate) done: Result<(), HubRefusal>,
}

/// Messages queued for one loop.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    queue: Mutex<VecDeque<Dated>>,
    bytes: AtomicUsize,
    len: AtomicUsize,
    /// Bounded by the number of pending publications.
    letters: Mutex<Vec<Letter>>,
    /// Notified when the first message of a batch arrives.
    pub(crate) ready: Notify,
}

impl Inbox {
    /// Appends a message; returns whether it is the first, so that the loop must be woken.
    pub(crate) fn push(&self, at: Nanoseconds, message: &Arc<HubMessage>) -> bool {
        self.bytes.fetch_add(message.size(), Ordering::Relaxed);
        let mut queue = lock(&self.queue);
        queue.push_back((at, Arc::clone(message)));
        self.len.store(queue.len(), Ordering::Relaxed);
        queue.len() == 1
    }

    /// Adds an outcome and wakes the loop.
    pub(crate) fn write(&self, letter: Letter) {
        lock(&self.letters).push(letter);
        self.ready.notify_one();
    }

    /// Takes all outcomes.
    pub(crate) fn take_letters(&self) -> Vec<Letter> {
        std::mem::take(&mut *lock(&self.letters))
    }

    /// Takes the queued messages, up to one batch.
    pub(crate) fn take(&self, batch: &mut Vec<Dated>) {
        let mut queue = lock(&self.queue);
        let count = queue.len().min(BATCH_MAX);
        batch.extend(queue.drain(..count));
        self.len.store(queue.len(), Ordering::Relaxed);
        if queue.is_empty() && queue.capacity() > 4 * BATCH_MAX {
            *queue = VecDeque::new();
        }
        drop(queue);
        let bytes = batch.iter().map(|(_, message)| message.size()).sum();
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Whether not even the hub's own events have room.
    pub(crate) fn is_overfull(&self) -> bool {
        self.len.load(Ordering::Relaxed) >= 2 * MESSAGES_MAX
            || self.bytes.load(Ordering::Relaxed) >= 2 * BYTES_MAX
    }

    /// Whether the loop must catch up before more is published.
    pub(crate) fn is_full(&self) -> bool {
        self.len.load(Ordering::Relaxed) >= MESSAGES_MAX
            || self.bytes.load(Ordering::Relaxed) >= BYTES_MAX
    }
}
