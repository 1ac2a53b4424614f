//! Channels and positions.

/// A channel during its lifetime: an epoch is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChannelRef {
    pub(crate) slot: u32,
    pub(crate) epoch: u64,
}

impl ChannelRef {
    /// Its epoch.
    pub fn epoch(self) -> u64 {
        self.epoch
    }
}

/// A position in a channel: everything up to an offset is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The epoch of the channel.
    pub epoch: u64,
    /// The last message known; 0 before the first.
    pub offset: u64,
}
