//! What a client is given when it subscribes: all that it missed, whatever its slot holds otherwise.

use std::sync::Arc;

use super::slot::Item;
use super::{Audience, ClientId, Outlet};
use crate::message::Message;

/// Most bytes that are written at once.
const PIECE_LEN_MAX: usize = 64 * 1024;

impl Audience {
    /// Writes several messages as one piece; what is not taken waits and is never dropped. The histories that it comes
    /// from bound it, for a channel's is given once, and forgotten with the subscription.
    pub(super) fn give_missed(
        &mut self,
        id: ClientId,
        missed: &[Arc<Message>],
        outlet: &mut impl Outlet,
    ) {
        let client = &mut self.clients[id.index()];
        if client.is_condemned {
            self.counts.dropped += missed.len() as u64;
            return;
        }
        self.counts.delivered += missed.len() as u64;
        let (mut rest, mut begun) = (missed, 0);
        let mut piece = Vec::new();
        while client.slot.is_none() && begun == 0 && !rest.is_empty() {
            piece.clear();
            let mut lens = Vec::new();
            for message in rest {
                let bytes = message.bytes(client.format, &mut self.deflater);
                if !lens.is_empty() && piece.len() + bytes.len() > PIECE_LEN_MAX {
                    break;
                }
                piece.extend_from_slice(bytes);
                lens.push(bytes.len());
            }
            let mut taken = outlet.write(id, &piece);
            let is_whole = taken == piece.len();
            let whole = lens.iter().take_while(|&&len| {
                let is_whole = taken >= len;
                taken -= if is_whole { len } else { 0 };
                is_whole
            });
            rest = &rest[whole.count()..];
            if !is_whole {
                begun = taken;
                break;
            }
        }
        if rest.is_empty() {
            return;
        }
        let slot = client.slot.get_or_insert_default();
        for message in rest {
            slot.put(Item::Missed(Arc::clone(message)), begun);
        }
    }
}
