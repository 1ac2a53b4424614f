//! Delivery of a message to the subscribers of its channel: written immediately, or queued.

use std::sync::Arc;

use bytes::Bytes;
use plimsoll_wire::websocket::deflate::Deflater;

use super::next::NextOffset;
use super::slot::SlotItem;
use super::{Audience, AudienceClient, AudienceCounters, AudienceLimits, ClientId, Outlet, Slow};
use crate::message::{ClientFormat, HubMessage};

impl Audience {
    /// Delivers a message to all subscribers of its channel in this loop; returns their number. A reader of Mercure is
    /// given an update of several channels once: its copies follow one another.
    pub fn deliver(&mut self, message: &Arc<HubMessage>, outlet: &mut impl Outlet) -> usize {
        let Some(index) = self.find(message.channel()) else {
            return 0;
        };
        let mut given = 0;
        for member in &mut self.channels[index as usize].members {
            if !message.is_notice() && message.offset() < member.next.offset() {
                continue;
            }
            let client = &mut self.clients[member.client.index()];
            if message.is_notice() {
                self.counts.unrecovered += 1;
                // Offsets may begin again.
                client.update = 0;
            } else if message.is_copy() && client.format == ClientFormat::Mercure {
                if client.has(message) {
                    member.next = NextOffset::unsure(message.offset() + 1);
                    continue;
                }
                client.update = message.offset();
            }
            given += 1;
            let mut delivery = DeliveryContext {
                limits: &self.limits,
                deflater: &mut self.deflater,
                condemned: &mut self.condemned,
                counts: &mut self.counts,
            };
            member.next = delivery.give((member.client, member.next), client, message, outlet);
        }
        given
    }
}

impl AudienceClient {
    /// Whether it was given a copy of this update by another subscription. If that is still queued, it stands for both
    /// from here on.
    fn has(&mut self, message: &HubMessage) -> bool {
        let is_given = self.update == message.offset();
        if let (true, Some(slot)) = (is_given, &mut self.slot) {
            slot.share(message.offset());
        }
        is_given
    }
}

/// What a delivery needs besides the client.
struct DeliveryContext<'a> {
    limits: &'a AudienceLimits,
    deflater: &'a mut Option<Deflater>,
    condemned: &'a mut Vec<ClientId>,
    counts: &'a mut AudienceCounters,
}

impl DeliveryContext<'_> {
    #[inline]
    fn give(
        &mut self,
        (id, next): (ClientId, NextOffset),
        client: &mut AudienceClient,
        message: &Arc<HubMessage>,
        outlet: &mut impl Outlet,
    ) -> NextOffset {
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
                return NextOffset::sure(after);
            }
        }
        self.keep(id, client, message, written);
        NextOffset::unsure(after)
    }

    /// The client has the previous message: sends a patch.
    fn give_patch(
        &mut self,
        id: ClientId,
        client: &mut AudienceClient,
        (message, patch): (&Arc<HubMessage>, &Bytes),
        outlet: &mut impl Outlet,
    ) -> NextOffset {
        let after = message.offset() + 1;
        let written = outlet.write(id, patch);
        if written == 0 {
            self.keep(id, client, message, 0);
            return NextOffset::unsure(after);
        }
        self.counts.delivered += 1;
        if written < patch.len() {
            // A partially written message is completed, so the client has this one too.
            let slot = client.slot.get_or_insert_default();
            slot.put(SlotItem::Own(patch.clone()), written);
        }
        NextOffset::sure(after)
    }

    /// The client does not accept all of it now.
    #[cold]
    fn keep(
        &mut self,
        id: ClientId,
        client: &mut AudienceClient,
        message: &Arc<HubMessage>,
        written: usize,
    ) {
        if client.is_condemned {
            self.counts.dropped += 1;
            return;
        }
        let slot = client.slot.get_or_insert_default();
        self.counts.delivered += 1;
        let len = message.bytes(client.format, self.deflater).len();
        let item = SlotItem::Message(Arc::clone(message), len);
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
