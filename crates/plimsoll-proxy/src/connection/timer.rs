//! The deadline of a connection in the timer wheel of its loop.

use std::task::Context;

use plimsoll_net::loop_state::LoopState;

/// A place in the timer wheel of a loop.
#[derive(Debug)]
pub(super) struct Timer {
    key: usize,
    has_waker: bool,
}

impl Timer {
    /// Takes a place, with a first deadline.
    pub(super) fn enter(event_loop: &LoopState, ticks: u64) -> Self {
        let key = event_loop.enter();
        event_loop.set_deadline(key, ticks);
        Self {
            key,
            has_waker: false,
        }
    }

    /// The place, for what sets deadlines on behalf of the connection.
    #[inline]
    pub(super) fn key(&self) -> usize {
        self.key
    }

    /// Moves the deadline.
    #[inline]
    pub(super) fn set(&self, event_loop: &LoopState, ticks: u64) {
        event_loop.set_deadline(self.key, ticks);
    }

    /// Whether the deadline has passed since the last call. Otherwise the task is woken when it does.
    #[inline]
    pub(super) fn take_expired(&mut self, event_loop: &LoopState, cx: &Context<'_>) -> bool {
        let mut wheel = event_loop.wheel.borrow_mut();
        if !self.has_waker {
            // The waker of a task does not change: it is registered once.
            self.has_waker = true;
            wheel.set_waker(self.key, cx.waker().clone());
        }
        wheel.take_expired(self.key)
    }

    /// The connection moves to another task.
    pub(super) fn forget_waker(&mut self) {
        self.has_waker = false;
    }

    /// Gives the place back.
    pub(super) fn leave(&self, event_loop: &LoopState) {
        event_loop.wheel.borrow_mut().leave(self.key);
    }
}
