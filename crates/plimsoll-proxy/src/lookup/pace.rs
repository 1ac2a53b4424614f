//! Flow control of a response that is stored while it arrives: how far it may run ahead of its client.

use std::cell::{Cell, RefCell};
use std::task::{Context, Waker};

use super::fetch::Filling;

/// How far a response that is too large to be stored may run ahead of the client that triggered it, bytes.
const AHEAD_MAX: u64 = 256 * 1024;

/// Progress of the client that triggered the fetch.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    read: Cell<u64>,
    has_left: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Pace {
    /// The client has received this many bytes.
    pub(crate) fn has_read(&self, len: u64) {
        self.read.set(len);
        self.wake();
    }

    /// The client disconnected, or stopped reading.
    pub(crate) fn leave(&self) {
        self.has_left.set(true);
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

impl Filling {
    /// Whether the fetch is paced by its client, and how far it may run ahead. Pacing begins before the response
    /// outgrows its memory: a reader that falls further behind is cut off.
    fn pacing(&self) -> (bool, u64) {
        let kept_max = self.cache.store.limits().object_bytes as u64;
        let may_outgrow = self.metadata.len().is_none_or(|len| len > kept_max);
        let is_paced = !self.fits || (may_outgrow && self.len > kept_max / 2);
        (is_paced, AHEAD_MAX.min(kept_max / 4))
    }

    pub(crate) fn append(&mut self, content: &[u8], now: u64) {
        self.len += content.len() as u64;
        if !content.is_empty() {
            self.fits = self.leader.append(content, now) && self.fits;
            if let Some(spool) = &mut self.spool {
                spool.append(content);
            }
        }
    }

    /// Whether the fetch is pointless: the response is not stored, and no reader is left.
    pub(crate) fn is_vain(&self) -> bool {
        !self.fits && self.spool.is_none() && !self.leader.is_followed()
    }

    /// Whether the response is too large to be stored and far enough ahead of its client; otherwise the task is woken
    /// later.
    pub(crate) fn is_far_ahead(&self, cx: &Context<'_>) -> bool {
        let pace = &self.pace;
        let (is_paced, ahead_max) = self.pacing();
        if !is_paced || pace.has_left.get() || self.len < pace.read.get() + ahead_max {
            return false;
        }
        *pace.waker.borrow_mut() = Some(cx.waker().clone());
        true
    }
}
