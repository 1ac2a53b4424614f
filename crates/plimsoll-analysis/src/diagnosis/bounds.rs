//! Shares that rules of several kinds compare with.

/// Share of a hard limit above which it is as good as reached.
pub(crate) const NEARLY_FULL: f64 = 0.9;
/// Share of the connections that a server allows from which they are as good as used up.
pub(crate) const CONNECTIONS_FULL: f64 = 0.95;
/// Share of periods that a quota may cut short.
pub(crate) const THROTTLED_MAX: f64 = 0.05;
/// Mean busy share below which the machine has CPU to spare for other threads.
pub(crate) const CPU_TO_SPARE: f64 = 0.7;
/// Busy share of the machine from which CPU is short.
pub(crate) const CPU_SHORT: f64 = 0.9;
/// Share of the seconds with all workers busy from which they are a limit, even if no queue is visible.
pub(crate) const ALWAYS_BUSY: f64 = 0.8;
