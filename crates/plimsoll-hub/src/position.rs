//! Which channel, and how far in it.

/// A channel, for as long as it lives: an epoch is never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChannelRef {
    pub(crate) slot: u32,
    pub(crate) epoch: u64,
}

impl ChannelRef {
    /// The number of its life.
    pub fn epoch(self) -> u64 {
        self.epoch
    }
}

/// How far somebody is in a channel: everything up to an offset is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The life of the channel.
    pub epoch: u64,
    /// The last message known; 0 before the first.
    pub offset: u64,
}
