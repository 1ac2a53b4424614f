//! Users who poll: their answers hold messages, and a request that failed is tried again.

use super::Engine;
use crate::clock;
use crate::polls::{PollMoment, UserPoll};
use crate::virtual_users::UserRequest;

/// Pause after a request that failed: whoever polls at once must not spin.
const FAILED_PAUSE_NS: u64 = 1_000_000_000;

impl Engine {
    /// A user begins to poll.
    pub(super) fn begin_poll(&mut self, user: u32, index: u32) {
        // A failed step may have ended the last one.
        self.end_poll(user);
        self.virtual_users().begin_poll(user, index);
    }

    /// A user ends polling, if it did.
    pub(super) fn end_poll(&mut self, user: u32) {
        let poll = self.virtual_users().take_poll(user);
        self.close_poll(poll);
    }

    /// Nothing more is polled here.
    pub(super) fn close_poll(&mut self, poll: Option<Box<UserPoll>>) {
        if let (Some(polls), Some(mut poll)) = (&mut self.polls, poll) {
            polls.close(&mut poll);
        }
    }

    /// At the end of the drain: nobody polls any more.
    pub(super) fn close_polls(&mut self) {
        if let (Some(polls), Some(virtual_users)) =
            (&mut self.polls, self.virtual_users.as_deref_mut())
        {
            for poll in virtual_users.polls_mut() {
                polls.close(poll);
            }
        }
    }

    /// Adds the messages received since the last call to the current second.
    pub(super) fn flush_polls(&mut self) {
        if let Some(polls) = &mut self.polls {
            polls.flush(self.recorder.current().websocket());
        }
    }

    /// A good answer to a user who polls, if it does, to a request that was due at `due`.
    pub(super) fn poll_answered(&mut self, user: u32, call: &UserRequest, (due, now): (u64, u64)) {
        let Some(mut poll) = self.virtual_users().take_poll(user) else {
            return;
        };
        let unix_us = clock::wall_ns() / 1000;
        let index = poll.index();
        let messages = self.virtual_users().poll_messages(index, call);
        if !poll.has_channel() {
            let name = self.virtual_users().poll_channel(user, index, call, now);
            let number = self.prepared.channels().number(&name);
            poll.set_channel(number);
            if let Some(polls) = &mut self.polls {
                polls.name_channel(number, name, self.recorder.current().websocket());
            }
        }
        if let (Some(polls), Some(virtual_users)) =
            (&mut self.polls, self.virtual_users.as_deref_mut())
        {
            let marks = &virtual_users.poll(index).marks;
            let second = self.recorder.current().websocket();
            let at = PollMoment { due, now, unix_us };
            polls.receive(&mut poll, (marks, &messages), at, second);
            virtual_users.put_poll(user, poll);
        }
    }

    /// Whether a user polls, and everything that is under way is given up: the load and its drain are over.
    pub(super) fn poll_is_over(&mut self, user: u32) -> bool {
        let virtual_users = self.virtual_users();
        virtual_users.is_ending() && virtual_users.is_polling(user)
    }

    /// A request of a user who polls has failed; the next follows.
    pub(super) fn poll_again(&mut self, user: u32, now: u64) {
        self.people()
            .think(user, now.saturating_add(FAILED_PAUSE_NS));
    }
}
