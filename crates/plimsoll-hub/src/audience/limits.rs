//! Limits of a client.

use crate::rate::Rate;

/// Policy for clients that read more slowly than they are written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slow {
    /// A queued message of the same channel is replaced; if that is not enough, the oldest is dropped.
    NewestWins,
    /// New messages that do not fit are dropped.
    Drop,
    /// The client is disconnected, and may reconnect and recover.
    Disconnect,
}

/// Limits of a client.
#[derive(Clone, Copy, Debug)]
pub struct AudienceLimits {
    /// Most queued messages, besides replayed history.
    pub waiting_max: usize,
    /// Most queued bytes, besides those in the kernel. One message is always allowed.
    pub waiting_bytes_max: usize,
    /// Most bytes of replayed history queued for all clients of the loop. Above it, a new subscription gets no history.
    pub missed_bytes_max: usize,
    /// Policy beyond these limits.
    pub slow: Slow,
    /// Most subscriptions.
    pub subscriptions_max: usize,
    /// Rate limit of commands.
    pub commands: Rate,
}

/// Limits for tests; those of a running hub are settings of the edge.
#[cfg(test)]
pub(crate) fn limits_of_tests() -> AudienceLimits {
    AudienceLimits {
        waiting_max: 64,
        waiting_bytes_max: 256 * 1024,
        missed_bytes_max: 64 << 20,
        slow: Slow::NewestWins,
        subscriptions_max: 100,
        commands: Rate {
            per_second: 10.0,
            burst: 100.0,
        },
    }
}
