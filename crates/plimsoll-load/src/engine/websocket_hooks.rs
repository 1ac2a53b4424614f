//! What every load passes because it may have WebSockets: each does nothing where there are none.

use plimsoll_model::outcome::Outcome;

use super::Engine;
use crate::due::NEVER;

impl Engine {
    /// Whether messages may accumulate before they are read.
    #[inline]
    pub(super) fn may_rest(&mut self) -> bool {
        let websockets = self.websockets.as_mut();
        websockets.is_some_and(|websockets| websockets.take_rest())
    }

    /// When the next message is due.
    #[inline]
    pub(super) fn next_message(&self) -> u64 {
        let Some(websockets) = &self.websockets else {
            return NEVER;
        };
        let due = websockets.next_due();
        if due >= self.scheduler.end_ns() {
            NEVER
        } else {
            due
        }
    }

    /// Sends messages that are due at `now`. Whether more may be due at once.
    #[inline]
    pub(super) fn drive_websockets(&mut self, now: u64) -> bool {
        if self.websockets.is_none() {
            return false;
        }
        if now >= self.scheduler.end_ns() {
            self.end_websockets(now);
        }
        self.run_timers(now);
        self.virtual_users.is_none() && self.send_due_messages(now)
    }

    /// Adds the broadcasts received since the last call to the current second.
    pub(super) fn flush_websockets(&mut self) {
        if let Some(websockets) = &mut self.websockets {
            websockets.flush(self.recorder.current().websocket());
        }
        self.flush_polls();
    }

    /// Counts a failed handshake; does nothing where none is pending.
    pub(super) fn handshake_failed(&mut self, outcome: Outcome) {
        let Some(websockets) = &mut self.websockets else {
            return;
        };
        let cause = websockets.take_cause();
        let cause = cause.unwrap_or_else(|| outcome.name().to_owned());
        self.recorder.current().websocket().handshake_failed(cause);
    }

    /// The request of a reconnect ended, if it was one.
    pub(super) fn has_returned(&mut self, id: u32, outcome: Outcome, now: u64) -> bool {
        let Some(websockets) = &mut self.websockets else {
            return false;
        };
        let Some(lost) = websockets.end_return(id) else {
            return false;
        };
        websockets.take_cause();
        let builder = self.recorder.current().websocket();
        if outcome.is_ok() {
            builder.reconnected(now.saturating_sub(lost.since));
        } else {
            builder.reconnect_failed();
            self.schedule_reconnect(lost, now);
        }
        true
    }
}
