//! Compressed messages.

use plimsoll_net::loop_state::LoopState;
use plimsoll_wire::websocket::deflate::Inflater;
use plimsoll_wire::websocket::event::{Deflated, MessageContent};

use super::SubscriberConnection;
use crate::subscribers::local_hub::SubscriberTable;

/// Maximum memory kept for compressed messages.
const INFLATED_RETAINED_MAX: usize = 64 * 1024;

impl SubscriberConnection {
    /// Inflates and handles a message, if the client's rate allows it: crafted input can cost hundreds of times more to
    /// inflate than other input.
    pub(super) fn take_deflated(
        &mut self,
        packed: &Deflated<'_>,
        subscribers: &mut SubscriberTable,
        event_loop: &LoopState,
    ) {
        if !self.closing.may_send() {
            return;
        }
        let now_ms = self.local_hub.broker.now_ms();
        if !subscribers.audience.may_inflate(now_ms, self.id) {
            let user = self.user();
            let speaker = self
                .local_hub
                .speaker(self.id, self.format, user.as_deref());
            subscribers
                .command_handler(&mut self.local_hub.shards())
                .refuse_flood(&speaker);
            return self.strike(subscribers, event_loop);
        }
        let mut out = std::mem::take(&mut subscribers.inflated);
        let inflater = subscribers
            .inflater
            .get_or_insert_with(|| Inflater::new(false));
        let len_max = self.local_hub.wire_limits.get().message_len_max;
        match packed.inflate(inflater, len_max, &mut out) {
            Ok(MessageContent::Text(text)) => self.command(text, subscribers, event_loop),
            Ok(MessageContent::Binary(_)) => self.refuse_bytes(subscribers, event_loop),
            Err(error) => {
                let why = error.to_string();
                self.cast_out(subscribers, event_loop, error.close_code(), &why);
            }
        }
        let len = packed.compressed_len();
        subscribers.audience.charge_inflated(self.id, len);
        if out.capacity() <= INFLATED_RETAINED_MAX {
            subscribers.inflated = out;
        }
    }
}
