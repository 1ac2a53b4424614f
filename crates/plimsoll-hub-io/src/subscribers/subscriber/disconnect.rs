//! Why and how the hub ends a client: the close frame, and the time for the client's own.

use plimsoll_hub::ClientFormat;
use plimsoll_net::clock;
use plimsoll_net::loop_state::LoopState;
use plimsoll_wire::websocket::Opcode;
use plimsoll_wire::websocket::closing::{self, code};

use super::SubscriberConnection;
use crate::subscribers::local_hub::SubscriberTable;

/// Time for the closing handshake, ticks.
pub(super) const CLOSE_TIMEOUT_TICKS: u64 = 200;

impl SubscriberConnection {
    /// Whether the closing data is written.
    pub(super) fn is_over(&self) -> bool {
        match self.format {
            ClientFormat::Sse | ClientFormat::Mercure => !self.closing.may_send(),
            ClientFormat::WebSocket | ClientFormat::Deflated => {
                self.is_broken || self.closing.is_complete()
            }
        }
    }

    /// Whether its token, or the authorization by the application, has expired.
    pub(super) fn is_grant_expired(&self) -> bool {
        let grant = self.grant.as_ref();
        grant.is_some_and(|grant| grant.left_s(clock::unix_s()).is_none())
            && (self.local_hub.gate.borrow().is_some() || self.local_hub.hooks.borrow().is_some())
    }

    /// Why a well-behaved client must be disconnected.
    pub(super) fn why_end(
        &self,
        subscribers: &mut SubscriberTable,
        event_loop: &LoopState,
    ) -> Option<(u16, &'static str)> {
        if !self.closing.may_send() {
            None
        } else if event_loop.is_draining() {
            Some((code::GOING_AWAY, "the server is shutting down"))
        } else if self.is_grant_expired() {
            let why = match *self.local_hub.gate.borrow() {
                Some(_) => "the token has expired",
                None => "the authorization by the application has expired",
            };
            Some((code::POLICY, why))
        } else if !self.local_hub.is_open.get() {
            Some((code::GOING_AWAY, "the hub is closed"))
        } else if subscribers
            .sockets
            .get(self.id)
            .is_some_and(|socket| socket.is_condemned)
        {
            Some((code::TRY_LATER, "messages were not read in time"))
        } else if self.reader.memory() > 0 && event_loop.memory.is_full() {
            Some((code::TRY_LATER, "no memory for a fragmented message"))
        } else {
            None
        }
    }

    /// Ends its subscriptions in the hub.
    pub(super) fn retire(&self, subscribers: &mut SubscriberTable) {
        let user = self.user();
        let speaker = self
            .local_hub
            .speaker(self.id, self.format, user.as_deref());
        subscribers
            .command_handler(&mut self.local_hub.shards())
            .retire(&speaker);
    }

    /// Sends the close frame; only messages already started are completed before it.
    pub(super) fn end(
        &mut self,
        subscribers: &mut SubscriberTable,
        event_loop: &LoopState,
        code: u16,
        why: &str,
    ) {
        self.retire(subscribers);
        if self.closing.send() && !self.format.is_events() {
            let payload = closing::payload(Some(code), why);
            self.send_frame(subscribers, Opcode::Close, &payload);
        }
        event_loop.set_deadline(self.deadline, CLOSE_TIMEOUT_TICKS);
    }

    /// A protocol violation: it is reported, and nothing more is read.
    pub(super) fn cast_out(
        &mut self,
        subscribers: &mut SubscriberTable,
        event_loop: &LoopState,
        code: u16,
        why: &str,
    ) {
        self.is_broken = true;
        self.end(subscribers, event_loop, code, why);
    }
}
