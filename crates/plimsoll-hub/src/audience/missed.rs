//! Replay: the history that a client receives when it subscribes, in addition to the limits of its queue.
//!
//! History may expire while a client has not read its replay: the messages are then kept alive for this client only. So
//! they are counted, for all clients of the loop together.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::slot::SlotItem;
use super::{Audience, ClientId, Outlet};
use crate::message::HubMessage;

/// Most bytes of one write.
const PIECE_LEN_MAX: usize = 64 * 1024;

/// Bytes of queued history.
#[derive(Debug, Default)]
pub(super) struct Pinned(Arc<AtomicUsize>);

/// A queued message of a replay: counted until it is dropped.
#[derive(Debug)]
pub(super) struct Missed {
    message: Arc<HubMessage>,
    all: Arc<AtomicUsize>,
}

impl Pinned {
    pub(super) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    fn pin(&self, message: &Arc<HubMessage>) -> Missed {
        self.0.fetch_add(message.size(), Ordering::Relaxed);
        Missed {
            message: Arc::clone(message),
            all: Arc::clone(&self.0),
        }
    }
}

impl Deref for Missed {
    type Target = HubMessage;

    fn deref(&self) -> &HubMessage {
        &self.message
    }
}

impl Drop for Missed {
    fn drop(&mut self) {
        self.all.fetch_sub(self.message.size(), Ordering::Relaxed);
    }
}

/// Bytes of messages that are queued.
pub(crate) fn len_of(missed: &[Arc<HubMessage>]) -> usize {
    missed.iter().map(|message| message.size()).sum()
}

impl Audience {
    /// Whether all of this may be queued. Nothing is always allowed.
    #[cfg(test)]
    pub(crate) fn has_capacity_for(&self, missed: &[Arc<HubMessage>]) -> bool {
        self.has_capacity_after(0, missed)
    }

    /// Whether all of this may be queued after `queued` bytes of other subscriptions. Nothing is always allowed.
    pub(crate) fn has_capacity_after(&self, queued: usize, missed: &[Arc<HubMessage>]) -> bool {
        let len = len_of(missed);
        len == 0 || self.missed_bytes.bytes() + queued + len <= self.limits.missed_bytes_max
    }

    /// Writes several messages in one piece; the rest is queued and never dropped. Check
    /// [`Audience::has_capacity_after`] first.
    pub(crate) fn give_missed(
        &mut self,
        id: ClientId,
        missed: &[Arc<HubMessage>],
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
            slot.put(SlotItem::Missed(self.missed_bytes.pin(message)), begun);
        }
    }
}
