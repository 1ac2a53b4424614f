//! The only place of this crate that reads clocks.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Monotonic time, ns.
pub(crate) fn now_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// Time since 1970, ns.
pub(crate) fn wall_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Realtime))
}

/// CPU time of the calling thread, ns.
pub(crate) fn thread_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// The time since then, capped by a known shorter one, s.
pub(crate) fn shortest_s(known: Option<f64>, since_ns: u64) -> f64 {
    let took_s = now_ns().saturating_sub(since_ns) as f64 / 1e9;
    known.map_or(took_s, |known| known.min(took_s))
}

fn nanoseconds(time: Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let below = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(below)
}
