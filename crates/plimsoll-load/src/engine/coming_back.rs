//! Lost WebSockets come back, and are kept by what is sent on them.

use plimsoll_model::outcome::Outcome;
use plimsoll_wire::websocket::Opcode;

use super::Engine;
use crate::call::Role;
use crate::connection::Request;
use crate::due::{NEVER, NOBODY};
use crate::list::NONE;
use crate::talk::{Errand, Lost};

impl Engine {
    /// Makes the subscriptions again that were lost with the connection.
    pub(super) fn subscribe_again(&mut self, id: u32, user: u32, now: u64) {
        let socket = self.crowd().users[user as usize].socket.as_ref();
        let made = socket.map(|socket| socket.subscriptions.clone());
        for (subscription, channel) in made.unwrap_or_default() {
            if let Some(talks) = &mut self.talks {
                let second = self.recorder.current().talk();
                talks.listen(id, (subscription, channel), now, second, None);
            }
            let say = self.crowd().program.subscriptions[subscription as usize].say;
            if let Some(say) = say {
                self.utter(id, user, say, now);
            }
        }
    }

    /// A user has lost its WebSocket, and gets it back where its plan says so.
    pub(super) fn miss_socket(&mut self, user: u32, id: u32, last_event: String, now: u64) {
        let is_over = self.talks.as_ref().is_some_and(|talks| talks.is_over);
        let Some(row) = self.crowd().users.get_mut(user as usize) else {
            return;
        };
        let Some(socket) = row.socket.as_mut().filter(|socket| socket.connection == id) else {
            return;
        };
        socket.connection = NONE;
        socket.lost_ns = now;
        if !last_event.is_empty() {
            socket.last_event = last_event;
        }
        if is_over || !self.remind_to_reopen(user, now) {
            self.crowd().users[user as usize].socket = None;
        }
    }

    /// Has a WebSocket opened again after a pause. Not when it was tried often enough.
    fn remind_to_reopen(&mut self, user: u32, now: u64) -> bool {
        let (Some(crowd), Some(talks)) = (self.crowd.as_deref_mut(), &mut self.talks) else {
            return false;
        };
        let crowd = &mut *crowd;
        let Some(row) = crowd.users.get_mut(user as usize) else {
            return false;
        };
        let Some(socket) = row.socket.as_mut().filter(|socket| socket.lost_ns != NEVER) else {
            return false;
        };
        let reconnect = crowd.program.sockets[socket.index as usize].reconnect;
        let Some(reconnect) = reconnect.filter(|reconnect| socket.tries < reconnect.times) else {
            return false;
        };
        let pause = talks.pause_before(&reconnect, socket.tries);
        socket.tries += 1;
        talks.remind(now.saturating_add(pause), Errand::Reopen(user, row.number));
        true
    }

    /// A try to open a WebSocket again has ended.
    pub(super) fn reopening_ended(&mut self, user: u32, outcome: Outcome, now: u64) {
        if outcome.is_ok() {
            return;
        }
        self.recorder.current().talk().window.reconnects_failed += 1;
        let is_over = self.talks.as_ref().is_some_and(|talks| talks.is_over);
        if !is_over
            && !self.remind_to_reopen(user, now)
            && let Some(row) = self.crowd().users.get_mut(user as usize)
            && let Some(socket) = &row.socket
            && socket.lost_ns != NEVER
        {
            row.socket = None;
        }
    }

    /// Does what is due on users' WebSockets.
    pub(super) fn run_errands(&mut self, now: u64) {
        if now >= self.source.end_ns() {
            return;
        }
        while let Some(talks) = &mut self.talks
            && let Some((at, errand)) = talks.pop_errand(now)
        {
            match errand {
                Errand::Beat(id, generation) => self.beat(id, generation, at),
                Errand::Reopen(user, number) => self.reopen(user, number, now),
                Errand::Return(lost) => self.return_talk(lost, now),
            }
        }
    }

    fn beat(&mut self, id: u32, generation: u32, at: u64) {
        if !self.stands(id, generation) {
            return;
        }
        let (Some(talks), Some(crowd)) = (&mut self.talks, &self.crowd) else {
            return;
        };
        let Some(index) = talks.owned(id).map(|owned| owned.socket) else {
            return;
        };
        if let Some((every_ns, text)) = &crowd.socket(index).beat
            && talks.takes(id)
        {
            talks.remind(at.saturating_add(*every_ns), Errand::Beat(id, generation));
            talks.out.clear();
            talks.speak(id, Opcode::Text, text);
            let len = text.len() as u64;
            self.count_sent(len);
            self.transmit(id);
        }
    }

    fn reopen(&mut self, user: u32, number: u64, now: u64) {
        let crowd = self.crowd();
        let row = crowd.users.get(user as usize);
        let socket = row
            .filter(|row| row.number == number)
            .and_then(|row| row.socket.as_ref());
        let lost = socket.filter(|socket| socket.connection == NONE && socket.lost_ns != NEVER);
        if let Some(index) = lost.map(|socket| socket.index) {
            let request = crowd.socket(index).request;
            self.ask(user, request, Role::Reopening, None, now, now);
        }
    }

    /// Whether users have WebSockets and this one's is away: a step on it fails at once.
    pub(super) fn misses_socket(&self, user: u32) -> bool {
        let Some(crowd) = self.crowd.as_ref() else {
            return false;
        };
        let user = crowd.users.get(user as usize);
        let socket = user.and_then(|user| user.socket.as_ref());
        let is_there = socket.is_some_and(|socket| socket.connection != NONE);
        !crowd.program.sockets.is_empty() && !is_there
    }

    /// A WebSocket of a load of flags was lost, and is opened again where they say so.
    pub(super) fn miss_talk(&mut self, lost: Lost, now: u64) {
        let load = self.order.load.websockets();
        let reconnect = load.and_then(|load| load.reconnect);
        if let Some(reconnect) = reconnect.filter(|reconnect| lost.tries < reconnect.times)
            && let Some(talks) = &mut self.talks
        {
            let pause = talks.pause_before(&reconnect, lost.tries);
            let tries = lost.tries + 1;
            let again = Errand::Return(Lost { tries, ..lost });
            talks.remind(now.saturating_add(pause), again);
        }
    }

    fn return_talk(&mut self, lost: Lost, now: u64) {
        if !self.has_room() {
            return self.miss_talk(lost, now);
        }
        let id = self.requests.insert(Request::new(now, NOBODY, lost.path));
        let id = u32::try_from(id).expect("requests at once are far below 2^32");
        self.by_due.push_back(&mut self.requests, id);
        if let Some(talks) = &mut self.talks {
            talks.returning.insert(id, lost);
        }
        self.open_for(id, now);
    }

    /// The request ended that was to bring a lost WebSocket back, if it was one.
    pub(super) fn has_returned(&mut self, id: u32, outcome: Outcome, now: u64) -> bool {
        let Some(talks) = self
            .talks
            .as_mut()
            .filter(|talks| !talks.returning.is_empty())
        else {
            return false;
        };
        let Some(lost) = talks.returning.remove(&id) else {
            return false;
        };
        talks.cause = None;
        let talk = self.recorder.current().talk();
        if outcome.is_ok() {
            talk.reconnected(now.saturating_sub(lost.since));
        } else {
            talk.window.reconnects_failed += 1;
            self.miss_talk(lost, now);
        }
        true
    }
}
