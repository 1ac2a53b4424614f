//! Lost WebSockets are reopened, and open ones are kept alive by messages.

use plimsoll_model::outcome::Outcome;
use plimsoll_wire::websocket::Opcode;

use super::Engine;
use crate::due::NOBODY;
use crate::requests::Request;
use crate::virtual_users::RequestRole;
use crate::websocket_session::{Lost, WebSocketTimer};

impl Engine {
    /// Repeats the subscriptions that were lost with the connection.
    pub(super) fn subscribe_again(&mut self, id: u32, user: u32, now: u64) {
        let socket = self.virtual_users().user_socket(user);
        let made = socket.map(|socket| socket.subscriptions().to_vec());
        for (subscription, channel) in made.unwrap_or_default() {
            if let Some(websockets) = &mut self.websockets {
                let second = self.recorder.current().websocket();
                websockets.listen(id, (subscription, channel), now, second, None);
            }
            let exchange = self.virtual_users().subscription(subscription).exchange;
            if let Some(exchange) = exchange {
                self.send_user_message(id, user, exchange, now);
            }
        }
    }

    /// A user has lost its WebSocket; it is reopened where the plan requires it.
    pub(super) fn miss_socket(&mut self, user: u32, id: u32, last_event: String, now: u64) {
        let is_over = self.websockets_are_over();
        let virtual_users = self.virtual_users();
        let is_lost = virtual_users.socket_lost(user, id, last_event, now);
        if is_lost && (is_over || !self.remind_to_reopen(user, now)) {
            self.virtual_users().drop_socket(user);
        }
    }

    /// Schedules the reopening of a WebSocket after a pause, unless the attempts are used up.
    fn remind_to_reopen(&mut self, user: u32, now: u64) -> bool {
        let (Some(virtual_users), Some(websockets)) =
            (self.virtual_users.as_deref_mut(), &mut self.websockets)
        else {
            return false;
        };
        let Some((reconnect, tries, number)) = virtual_users.next_reconnect(user) else {
            return false;
        };
        let pause = websockets.pause_before(&reconnect, tries);
        let timer = WebSocketTimer::Reopen(user, number);
        websockets.remind(now.saturating_add(pause), timer);
        true
    }

    /// An attempt to reopen a WebSocket has ended.
    pub(super) fn reopening_ended(&mut self, user: u32, outcome: Outcome, now: u64) {
        if outcome.is_ok() {
            return;
        }
        let cut = self.virtual_users().cut_of(user);
        let second = self.recorder.current().websocket();
        match cut {
            Some(cut) => second.of_cut(cut).count_failure(),
            None => second.reconnect_failed(),
        }
        let is_over = self.websockets_are_over();
        if !is_over {
            self.reopen_later(user, now);
        }
    }

    /// Schedules the next attempt to reopen a lost WebSocket; without one the user has none any more.
    pub(super) fn reopen_later(&mut self, user: u32, now: u64) {
        if self.remind_to_reopen(user, now) || !self.virtual_users().has_lost_socket(user) {
            return;
        }
        if let Some(cut) = self.virtual_users().cut_of(user) {
            let second = self.recorder.current().websocket();
            second.of_cut(cut).count_abandoned();
        }
        self.virtual_users().drop_socket(user);
    }

    /// Carries out due work on users' WebSockets.
    pub(super) fn run_timers(&mut self, now: u64) {
        if now >= self.scheduler.end_ns() {
            return;
        }
        while let Some(websockets) = &mut self.websockets
            && let Some((at, timer)) = websockets.pop_timer(now)
        {
            match timer {
                WebSocketTimer::Beat(id, generation) => self.beat(id, generation, at),
                WebSocketTimer::Reopen(user, number) => self.reopen(user, number, now),
                WebSocketTimer::Return(lost) => self.reconnect_websocket(lost, now),
                WebSocketTimer::Drop(id, generation) => self.drop_out(id, generation, now),
                WebSocketTimer::Disconnect(socket, place) => self.disconnect(socket, place, now),
            }
        }
    }

    fn beat(&mut self, id: u32, generation: u32, at: u64) {
        if !self.connections.contains(id, generation) {
            return;
        }
        let (Some(websockets), Some(virtual_users)) = (&mut self.websockets, &self.virtual_users)
        else {
            return;
        };
        let Some(index) = websockets.owned(id).map(|owned| owned.socket()) else {
            return;
        };
        if let Some((every_ns, text)) = &virtual_users.socket(index).beat
            && websockets.takes(id)
        {
            websockets.remind(
                at.saturating_add(*every_ns),
                WebSocketTimer::Beat(id, generation),
            );
            websockets.clear_output();
            websockets.queue_message(id, Opcode::Text, text);
            let len = text.len() as u64;
            self.count_sent(len);
            self.transmit(id);
        }
    }

    fn reopen(&mut self, user: u32, number: u64, now: u64) {
        let virtual_users = self.virtual_users();
        if let Some(index) = virtual_users.lost_socket(user, number) {
            let request = virtual_users.socket(index).request;
            if let Some(cut) = virtual_users.cut_of(user) {
                let second = self.recorder.current().websocket();
                second.of_cut(cut).count_attempt();
            }
            self.start_request(user, request, RequestRole::Reopening, None, now, now);
        }
    }

    /// A WebSocket of a load from flags was lost, and is reopened where the flags require it.
    pub(super) fn schedule_reconnect(&mut self, lost: Lost, now: u64) {
        let load = self.prepared.load().websockets();
        let reconnect = load.and_then(|load| load.reconnect);
        if let Some(reconnect) = reconnect.filter(|reconnect| lost.tries < reconnect.times)
            && let Some(websockets) = &mut self.websockets
        {
            let pause = websockets.pause_before(&reconnect, lost.tries);
            let tries = lost.tries + 1;
            let again = WebSocketTimer::Return(Lost { tries, ..lost });
            websockets.remind(now.saturating_add(pause), again);
        }
    }

    fn reconnect_websocket(&mut self, lost: Lost, now: u64) {
        if !self.connections.have_capacity() {
            return self.schedule_reconnect(lost, now);
        }
        let id = self.requests.insert(Request::new(now, NOBODY, lost.path));
        if let Some(websockets) = &mut self.websockets {
            websockets.begin_return(id, lost);
        }
        self.open_for(id, now);
    }
}
