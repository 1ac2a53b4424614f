//! WebSockets of users that are cut from this side, without a close frame, and opened again: by one user who drops out of
//! its network, or many at a moment.

use plimsoll_model::outcome::Outcome;
use plimsoll_model::websocket::SocketCut;

use super::Engine;
use crate::list::NONE;
use crate::websocket_session::WebSocketTimer;

impl Engine {
    /// A user's WebSocket is open and ready: draws when the user drops, where the plan has it.
    pub(super) fn schedule_drop(&mut self, id: u32, user: u32, index: u32, now: u64) {
        let generation = self.connections[id].generation();
        let virtual_users = self.virtual_users();
        let Some(drops) = virtual_users.socket(index).drops else {
            return;
        };
        let drop_ns = virtual_users.draw_drop(user, &drops);
        if let Some(websockets) = &mut self.websockets {
            let timer = WebSocketTimer::Drop(id, generation);
            websockets.remind(now.saturating_add(drop_ns), timer);
        }
    }

    /// A user drops out of its network, and comes back after a while.
    pub(super) fn drop_out(&mut self, id: u32, generation: u32, now: u64) {
        if !self.connections.contains(id, generation) {
            return;
        }
        let Some((user, index)) = self.open_socket_on(id) else {
            return;
        };
        let virtual_users = self.virtual_users();
        let Some(drops) = virtual_users.socket(index).drops else {
            return;
        };
        let since = now.saturating_add(virtual_users.draw_away(user, &drops));
        self.cut_websocket(id, user, (SocketCut::Dropped, since), now);
    }

    /// A share of the open WebSockets of a step is cut at once.
    pub(super) fn disconnect(&mut self, socket: u32, place: u32, now: u64) {
        let compiled = self.virtual_users().socket(socket);
        let Some(&disconnect) = compiled.disconnects.get(place as usize) else {
            return;
        };
        let at_ms = u64::try_from(disconnect.at.as_millis()).unwrap_or(u64::MAX);
        let open = self.websockets.as_ref();
        let open = open.map_or_else(Vec::new, |websockets| websockets.all_open());
        for id in open {
            // Of one that was cut, a step may have failed whose user has left.
            let Some((user, index)) = self.open_socket_on(id) else {
                continue;
            };
            if index == socket && self.virtual_users().draws_share(user, disconnect.share) {
                self.cut_websocket(id, user, (SocketCut::Disconnected(at_ms), now), now);
            }
        }
    }

    /// The user of the WebSocket on a connection, and its index in the program, while it is open and ready.
    fn open_socket_on(&mut self, id: u32) -> Option<(u32, u32)> {
        let is_closing = self.connections.get(id)?.is_closing();
        let owned = self.owned(id).filter(|owned| owned.is_ready())?;
        let known = (owned.user(), owned.socket());
        (!is_closing).then_some(known)
    }

    /// Resets the connection of a WebSocket; its user does nothing until it is open again. It may be from `since` on.
    fn cut_websocket(&mut self, id: u32, user: u32, (cut, since): (SocketCut, u64), now: u64) {
        let request = self.connections[id].take_request();
        let websockets = self.websockets.as_mut();
        let last_event = websockets.map(|websockets| websockets.last_event(id));
        self.depart(id, Outcome::Reset, now);
        let last_event = last_event.unwrap_or_default();
        let number = self
            .virtual_users()
            .cut_socket(user, id, last_event, (cut, since));
        self.close(id, false);
        self.recorder.current().websocket().of_cut(cut).count_cut();
        match (cut, number) {
            (SocketCut::Dropped, Some(number)) => {
                if let Some(websockets) = &mut self.websockets {
                    websockets.remind(since, WebSocketTimer::Reopen(user, number));
                }
            }
            (SocketCut::Disconnected(_), Some(_)) => self.reopen_later(user, now),
            (_, None) => {}
        }
        if request != NONE {
            self.end_request(request, Outcome::Reset, now);
        }
        self.serve_waiting(now);
    }
}
