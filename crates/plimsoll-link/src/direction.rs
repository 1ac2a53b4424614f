//! The two directions of a connection.

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the client, the load generator, to the target.
    ToTarget,
    /// From the target back to the client.
    FromTarget,
}

impl Direction {
    /// Both.
    pub const ALL: [Self; 2] = [Self::ToTarget, Self::FromTarget];

    /// The other one.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::ToTarget => Self::FromTarget,
            Self::FromTarget => Self::ToTarget,
        }
    }

    /// Its index in pairs of things.
    pub(crate) fn index(self) -> usize {
        match self {
            Self::ToTarget => 0,
            Self::FromTarget => 1,
        }
    }
}
