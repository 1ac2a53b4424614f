//! Control frames, and clients that exceed their rate.

use plimsoll_net::loop_state::LoopState;
use plimsoll_wire::websocket::Opcode;
use plimsoll_wire::websocket::closing::code;

use super::SubscriberConnection;
use crate::subscribers::local_hub::SubscriberTable;

/// Commands and control frames beyond a client's rate, between two pings, after which it is disconnected.
const STRIKES_MAX: u8 = 100;

impl SubscriberConnection {
    /// Handles a ping with its payload, or a pong. Each counts as a command: a client that sends nothing else must not
    /// keep the loop busy either.
    pub(super) fn take_control(
        &mut self,
        ping: Option<&[u8]>,
        subscribers: &mut SubscriberTable,
        event_loop: &LoopState,
    ) {
        if !self.closing.may_send() {
            return;
        }
        let now_ms = self.local_hub.broker.now_ms();
        if !subscribers.audience.may_command(now_ms, self.id) {
            self.strike(subscribers, event_loop);
        } else if let Some(payload) = ping {
            self.send_frame(subscribers, Opcode::Pong, payload);
        }
    }

    /// It exceeds its rate. A client that continues is disconnected.
    pub(super) fn strike(&mut self, subscribers: &mut SubscriberTable, event_loop: &LoopState) {
        self.strikes = self.strikes.saturating_add(1);
        if self.strikes >= STRIKES_MAX {
            let why = "too many commands";
            self.cast_out(subscribers, event_loop, code::POLICY, why);
        }
    }
}
