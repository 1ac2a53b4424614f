//! How far an answer that is kept runs ahead of who asked for it, and whether anybody wants the rest.

use std::cell::{Cell, RefCell};
use std::task::{Context, Waker};

use super::fetch::Filling;

/// How far an answer that is too large to be kept runs ahead of the client that asked for it, bytes.
const AHEAD_MAX: u64 = 256 * 1024;

/// How far the one who asked has read along.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    read: Cell<u64>,
    has_left: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Pace {
    /// The client has been given so many bytes.
    pub(crate) fn has_read(&self, len: u64) {
        self.read.set(len);
        self.wake();
    }

    /// The client has left, or reads no further.
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
    /// Whether it keeps to the pace of the one who asked, and how far it runs ahead. It does before it outgrows what
    /// memory keeps of it: who is further behind than that breaks off.
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

    /// Whether nobody wants it any more: it is not kept, and whoever read along has left.
    pub(crate) fn is_vain(&self) -> bool {
        !self.fits && self.spool.is_none() && !self.leader.is_followed()
    }

    /// Whether it is too large to be kept and far enough ahead of who asked for it; wakes whoever asks once it is not.
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
