//! One message into one client: written at once, or kept in its slot.

use std::sync::Arc;

use bytes::Bytes;
use plimsoll_wire::websocket::deflate::Deflater;

use super::next::Next;
use super::slot::Item;
use super::{Client, ClientId, Counts, Limits, Outlet, Slow};
use crate::message::Message;

/// What a message passes through on its way to a client, beside the client.
pub(super) struct Hand<'a> {
    pub(super) limits: &'a Limits,
    pub(super) deflater: &'a mut Option<Deflater>,
    pub(super) condemned: &'a mut Vec<ClientId>,
    pub(super) counts: &'a mut Counts,
}

impl Hand<'_> {
    #[inline]
    pub(super) fn give(
        &mut self,
        (id, next): (ClientId, Next),
        client: &mut Client,
        message: &Arc<Message>,
        outlet: &mut impl Outlet,
    ) -> Next {
        let after = message.offset() + 1;
        let mut written = 0;
        if client.slot.is_none() {
            let is_patched = client.takes_patches && next.is_sure();
            if is_patched && let Some(patch) = message.patch_for(next.offset()) {
                return self.give_patch(id, client, (message, patch), outlet);
            }
            let bytes = message.bytes(client.format, self.deflater);
            written = outlet.write(id, bytes);
            if written == bytes.len() {
                self.counts.delivered += 1;
                return Next::sure(after);
            }
        }
        self.keep(id, client, message, written);
        Next::unsure(after)
    }

    /// The client has the message before: it is told what has changed.
    fn give_patch(
        &mut self,
        id: ClientId,
        client: &mut Client,
        (message, patch): (&Arc<Message>, &Bytes),
        outlet: &mut impl Outlet,
    ) -> Next {
        let after = message.offset() + 1;
        let written = outlet.write(id, patch);
        if written == 0 {
            self.keep(id, client, message, 0);
            return Next::unsure(after);
        }
        self.counts.delivered += 1;
        if written < patch.len() {
            // What is begun is finished, so it has this too.
            let slot = client.slot.get_or_insert_default();
            slot.put(Item::Own(patch.clone()), written);
        }
        Next::sure(after)
    }

    /// The client does not take it all now.
    #[cold]
    fn keep(&mut self, id: ClientId, client: &mut Client, message: &Arc<Message>, written: usize) {
        if client.is_condemned {
            self.counts.dropped += 1;
            return;
        }
        let slot = client.slot.get_or_insert_default();
        self.counts.delivered += 1;
        let len = message.bytes(client.format, self.deflater).len();
        let item = Item::Message(Arc::clone(message), len);
        if self.limits.slow == Slow::NewestWins {
            let dropped = slot.push_newest(item, written, self.limits);
            self.counts.delivered -= dropped;
            self.counts.dropped += dropped;
        } else if !slot.push(item, written, self.limits) {
            self.counts.delivered -= 1;
            self.counts.dropped += 1;
            if self.limits.slow == Slow::Disconnect {
                client.is_condemned = true;
                self.counts.disconnected += 1;
                self.condemned.push(id);
            }
        }
    }
}
