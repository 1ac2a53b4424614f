//! Messages of a load from flags: sent when they are due, answered, timed out.

use plimsoll_model::outcome::Outcome;
use plimsoll_wire::websocket::closing::code;

use super::{ARRIVALS_MAX, Engine, WEBSOCKET_EVENTS_MAX};
use crate::recorder::RequestEnd;
use crate::websocket_session::Sent;

impl Engine {
    /// Number of events handled. A handshake is timed when it is read, so none may wait.
    pub(super) fn note_messages(&mut self, count: usize) {
        let is_more = count >= WEBSOCKET_EVENTS_MAX
            || !self.requests.is_empty()
            || !self.received.reads_timestamps();
        let now = self.clock.now();
        if let Some(websockets) = &mut self.websockets {
            websockets.note_batch(count, is_more, now);
        }
    }

    /// Sends messages that are due at `now`. Whether more may be due at once.
    pub(super) fn send_due_messages(&mut self, now: u64) -> bool {
        let release = self.prepared.timing().last_tick(now);
        let mut now = now;
        for _ in 0..ARRIVALS_MAX {
            if self.next_message() > release {
                return false;
            }
            let next = self
                .websockets
                .as_mut()
                .and_then(|websockets| websockets.pop_due(release));
            let Some((due, id, generation)) = next else {
                return false;
            };
            if self.connections.contains(id, generation) {
                self.send_message(id, generation, due, now);
                now = self.clock.now();
            }
        }
        true
    }

    /// One message is due.
    fn send_message(&mut self, id: u32, generation: u32, due: u64, now: u64) {
        let (Some(websockets), Some(agenda)) = (&mut self.websockets, self.prepared.agenda())
        else {
            return;
        };
        let Some(is_read) = websockets.may_send(id) else {
            return;
        };
        websockets.again(agenda, (due, id, generation));
        let late = websockets.give_up_answer(id);
        if let Some(sent) = late {
            self.message_failed(sent, Outcome::Timeout, now);
        }
        self.recorder.offered(due, now);
        if !is_read {
            // Earlier bytes are still pending: this message is never sent.
            self.recorder.current().websocket().unanswered();
            return self.recorder.drop_at_once(due, now);
        }
        let (Some(websockets), Some(agenda)) = (&mut self.websockets, self.prepared.agenda())
        else {
            return;
        };
        websockets.clear_output();
        let len = websockets.queue_agenda_message(agenda, id);
        websockets.await_answer(agenda, id, Sent { due, at: now });
        self.recorder.current().count_sent();
        self.count_sent(len);
        self.transmit(id);
    }

    /// Times out responses.
    pub(super) fn give_up_answers(&mut self, now: u64) {
        while let Some(websockets) = &mut self.websockets
            && let Some(id) = websockets.pop_expired(now)
        {
            if let Some(sent) = websockets.give_up_answer(id) {
                self.message_failed(sent, Outcome::Timeout, now);
            }
            let is_over = self.websockets_are_over();
            if is_over {
                self.end_websocket(id, code::NORMAL, Outcome::Dropped, now);
            }
        }
    }

    /// A message was answered at `done`.
    pub(super) fn message_answered(&mut self, id: u32, sent: Sent, done: u64) {
        let done = done.max(sent.due);
        self.recorder
            .current()
            .websocket()
            .answered(done.saturating_sub(sent.due));
        self.recorder
            .ended(RequestEnd::new(Outcome::Ok, sent.due, sent.at, done));
        let is_over = self.websockets_are_over();
        if is_over && !self.connections[id].is_closing() {
            let now = self.clock.now();
            self.end_websocket(id, code::NORMAL, Outcome::Dropped, now);
        }
    }

    /// A message has no response in time; it is no longer waited for.
    pub(super) fn message_failed(&mut self, sent: Sent, outcome: Outcome, now: u64) {
        self.recorder.current().websocket().unanswered();
        self.recorder
            .ended(RequestEnd::new(outcome, sent.due, sent.at, now));
    }
}
