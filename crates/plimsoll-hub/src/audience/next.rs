//! The next offset that a client expects of a channel.

use super::{Audience, ClientId};

/// The first offset that a client has not been given. The highest bit, which no offset uses, is set if the client
/// certainly has the message before: it was written in full, not queued where it could be dropped.
#[derive(Clone, Copy, Debug)]
pub(super) struct NextOffset(u64);

const SURE: u64 = 1 << 63;

impl NextOffset {
    pub(super) fn unsure(offset: u64) -> Self {
        Self(offset)
    }

    pub(super) fn sure(offset: u64) -> Self {
        Self(offset | SURE)
    }

    #[inline]
    pub(super) fn offset(self) -> u64 {
        self.0 & !SURE
    }

    #[inline]
    pub(super) fn is_sure(self) -> bool {
        self.0 & SURE != 0
    }
}

impl Audience {
    /// Whether a client receives patches, where channels have them.
    pub fn take_patches(&mut self, client: ClientId, takes_patches: bool) {
        if let Some(client) = self.clients.get_mut(client.index()) {
            client.takes_patches = takes_patches;
        }
    }
}
