//! Messages that came compressed.

use plimsoll_wire::websocket::deflate::Inflater;
use plimsoll_wire::websocket::event::{Content, Deflated};

use super::Visitor;
use crate::hub::house::Room;
use crate::loop_state::LoopState;

/// Most memory that is kept for messages that came compressed.
const INFLATED_KEPT_MAX: usize = 64 * 1024;

impl Visitor {
    /// Inflates a message and takes it, if the client may have that done now: bytes can be chosen that cost hundreds of
    /// times as much as others to inflate.
    pub(super) fn take_deflated(
        &mut self,
        packed: &Deflated<'_>,
        room: &mut Room,
        event_loop: &LoopState,
    ) {
        if !self.closing.may_send() {
            return;
        }
        let now_ms = self.house.world.now_ms();
        if !room.audience.may_inflate(now_ms, self.id) {
            let user = self.user();
            let speaker = self.house.speaker(self.id, self.format, user.as_deref());
            room.desk(&mut self.house.shards()).refuse_flood(&speaker);
            return self.strike(room, event_loop);
        }
        let mut out = std::mem::take(&mut room.inflated);
        let inflater = room.inflater.get_or_insert_with(|| Inflater::new(false));
        let len_max = self.house.wire_limits.get().message_len_max;
        match packed.inflate(inflater, len_max, &mut out) {
            Ok(Content::Text(text)) => self.command(text, room, event_loop),
            Ok(Content::Binary(_)) => self.refuse_bytes(room, event_loop),
            Err(fault) => {
                let why = fault.to_string();
                self.cast_out(room, event_loop, fault.close_code(), &why);
            }
        }
        let len = packed.compressed_len();
        room.audience.charge_inflated(self.id, len);
        if out.capacity() <= INFLATED_KEPT_MAX {
            room.inflated = out;
        }
    }
}
