//! Channels, positions, and from where subscribers continue.

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

/// From where a subscriber continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// With the next message, and the replay of the channel's rule.
    Now,
    /// After the last message that it knows.
    After(Position),
    /// With everything that is remembered.
    Earliest,
    /// After a message that no hub has sent: what it missed is unknown.
    Unknown,
}

impl From<Option<Position>> for Since {
    fn from(position: Option<Position>) -> Self {
        position.map_or(Self::Now, Self::After)
    }
}
