//! Pings, and clients that do not answer them, do not read, or whose token expires.

use std::rc::Rc;

use bytes::Bytes;
use plimsoll_hub::{ClientFormat, sse};
use plimsoll_net::clock;
use plimsoll_net::deadline::TICK_MS;
use plimsoll_net::loop_state::LoopState;

use super::SubscriberConnection;
use super::disconnect::CLOSE_TIMEOUT_TICKS;

/// A ping without a payload.
const PING: &[u8] = b"\x89\x00";

impl SubscriberConnection {
    /// Until the next ping, or the expiry of its token, ticks.
    pub(super) fn pause(&self) -> u64 {
        let ping = self.local_hub.ping_ticks.get();
        let left_s = self.grant.as_ref().map(|grant| {
            let left_s = grant.left_s(clock::unix_s()).unwrap_or_default();
            left_s.min(1e9)
        });
        left_s.map_or(ping, |left_s| ping.min(ticks_of(left_s)))
    }

    /// The deadline has passed: sends a ping. Returns whether the client is gone.
    pub fn expired(&mut self, event_loop: &LoopState) -> bool {
        if !self.closing.may_send() {
            // The closing handshake has timed out.
            return true;
        }
        let local_hub = Rc::clone(&self.local_hub);
        let mut subscribers = local_hub.subscribers.borrow_mut();
        let subscribers = &mut *subscribers;
        if self.is_grant_expired() {
            if let Some(socket) = subscribers.sockets.get(self.id) {
                socket.wake();
            }
            event_loop.set_deadline(self.deadline, CLOSE_TIMEOUT_TICKS);
            return false;
        }
        let is_waiting = subscribers.audience.is_waiting(self.id);
        let Some(socket) = subscribers.sockets.get(self.id) else {
            return true;
        };
        let has_moved = std::mem::take(&mut socket.has_moved);
        let is_stuck = is_waiting && !has_moved;
        let is_silent = !self.format.is_events() && self.is_pinged && !is_waiting;
        if is_stuck && self.was_stuck || is_silent {
            return true;
        }
        self.was_stuck = is_stuck;
        let question = match self.format {
            ClientFormat::Sse | ClientFormat::Mercure => sse::HEARTBEAT.as_bytes(),
            ClientFormat::WebSocket | ClientFormat::Deflated => PING,
        };
        if !is_waiting {
            let question = Bytes::from_static(question);
            subscribers
                .audience
                .send(self.id, question, &mut subscribers.sockets);
            self.is_pinged = true;
        }
        self.strikes = 0;
        subscribers.settle(&local_hub.figures);
        event_loop.set_deadline(self.deadline, self.pause());
        false
    }
}

/// A time in ticks, at least one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and decades"
)]
fn ticks_of(seconds: f64) -> u64 {
    (seconds * 1000.0 / TICK_MS as f64).ceil() as u64 + 1
}
