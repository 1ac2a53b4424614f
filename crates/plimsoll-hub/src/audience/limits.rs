//! How much a client may have and ask for.

use crate::rate::Rate;

/// What happens to who does not read as fast as it is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slow {
    /// What waits for it of the same channel is replaced; if that is not enough, the oldest is dropped.
    NewestWins,
    /// What does not fit any more is dropped.
    Drop,
    /// It is disconnected, and may return and recover.
    Disconnect,
}

/// How much a client may have and ask for.
#[derive(Clone, Copy, Debug)]
pub struct AudienceLimits {
    /// Most messages that wait for it, beside what it is given when it subscribes.
    pub waiting_max: usize,
    /// Most bytes that wait for it, beside what the kernel holds. One message may always wait.
    pub waiting_bytes_max: usize,
    /// Most bytes of histories that wait for clients of the loop, all together. Who subscribes when there is no room is
    /// given nothing of what it missed.
    pub missed_bytes_max: usize,
    /// What happens beyond.
    pub slow: Slow,
    /// Most subscriptions.
    pub subscriptions_max: usize,
    /// How often it may say something.
    pub commands: Rate,
}

impl Default for AudienceLimits {
    /// 64 messages, 256 KiB, 64 MiB of histories, newest wins, 100 subscriptions, ten commands a second and a hundred at once.
    fn default() -> Self {
        Self {
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
}
