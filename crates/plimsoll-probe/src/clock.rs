//! The only place of this crate that reads clocks.

use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::kernel_files;

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

/// Monotonic time less that in which the calling thread has waited for a processor, ns: on a busy machine, what a difference
/// of two readings tells is how long the thread's own work took. With a kernel that does not count the wait it is contained.
pub(crate) fn thread_ns() -> u64 {
    now_ns().saturating_sub(processor_wait_ns().unwrap_or(0))
}

/// How long the calling thread has waited for a processor since it began, ns.
fn processor_wait_ns() -> Option<u64> {
    let text = kernel_files::text("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
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
