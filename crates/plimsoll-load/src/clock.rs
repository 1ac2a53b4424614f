//! The only place of this crate that reads time.

use std::time::{Duration, Instant};

use rustix::thread::ClockId;
use rustix::time::Timespec;

/// Nanoseconds in a second.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// Run time: nanoseconds since an epoch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadClock {
    epoch: Instant,
}

impl LoadClock {
    pub(crate) fn new(epoch: Instant) -> Self {
        Self { epoch }
    }

    /// Nanoseconds since the epoch; 0 before it.
    #[inline]
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn now(&self) -> u64 {
        nanoseconds(Instant::now().saturating_duration_since(self.epoch))
    }

    /// The run time of a recent time of day `wall_ns`. Both clocks are read together, so that a step of the time of day
    /// does no harm unless it falls between timestamp and reading.
    #[inline]
    pub(crate) fn moment_of(&self, wall_ns: u64) -> u64 {
        let age = self::wall_ns().saturating_sub(wall_ns);
        self.now().saturating_sub(age)
    }

    /// Unix time of run time 0, ns.
    pub(crate) fn unix_ns(&self) -> u64 {
        wall_ns().saturating_sub(self.now())
    }

    /// Nanoseconds from now to a moment of run time, which may lie before the epoch; 0 when it has passed.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn until(&self, moment_ns: u64) -> u64 {
        let moment = self.epoch + Duration::from_nanos(moment_ns);
        nanoseconds(moment.saturating_duration_since(Instant::now()))
    }
}

/// Time of day, ns since 1970: the clock of the kernel's packet timestamps.
#[inline]
pub(crate) fn wall_ns() -> u64 {
    ns_of(rustix::time::clock_gettime(ClockId::Realtime))
}

/// A moment on the kernel's monotonic clock, ns: the same for all processes of this machine.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(crate) fn kernel_ns(moment: Instant) -> u64 {
    let (now, now_ns) = (Instant::now(), monotonic_ns());
    match moment.checked_duration_since(now) {
        Some(ahead) => now_ns.saturating_add(nanoseconds(ahead)),
        None => now_ns.saturating_sub(nanoseconds(now.saturating_duration_since(moment))),
    }
}

/// The run time of a [`kernel_ns`] that another process sent, accurate to some microseconds.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(crate) fn instant_of(kernel_ns: u64) -> Instant {
    let (now, now_ns) = (Instant::now(), monotonic_ns());
    let behind = Duration::from_nanos(now_ns.saturating_sub(kernel_ns));
    let ahead = Duration::from_nanos(kernel_ns.saturating_sub(now_ns));
    now.checked_sub(behind).unwrap_or(now) + ahead
}

fn monotonic_ns() -> u64 {
    ns_of(rustix::time::clock_gettime(ClockId::Monotonic))
}

fn ns_of(time: Timespec) -> u64 {
    u64::try_from(time.tv_sec).unwrap_or(0) * SECOND_NS + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Sleeps, or returns earlier when a signal comes.
pub(crate) fn sleep(wait_ns: u64) {
    let _ = rustix::thread::nanosleep(&timespec(wait_ns));
}

/// A duration as the kernel's `timespec`.
pub(crate) fn timespec(ns: u64) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(ns / SECOND_NS).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(ns % SECOND_NS).expect("below a second"),
    }
}

/// A duration in whole nanoseconds, cut at 584 years.
#[inline]
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    duration
        .as_secs()
        .saturating_mul(SECOND_NS)
        .saturating_add(u64::from(duration.subsec_nanos()))
}

/// CPU time this thread has used, µs.
pub(crate) fn thread_cpu_us() -> u64 {
    ns_of(rustix::time::clock_gettime(ClockId::ThreadCPUTime)) / 1000
}

/// CPU time that this process has used, µs.
pub(crate) fn process_cpu_us() -> u64 {
    ns_of(rustix::time::clock_gettime(ClockId::ProcessCPUTime)) / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "this is the clock's test")]
    fn a_moment_is_the_same_to_another_process() {
        let now = Instant::now();
        for moment in [
            now,
            now + Duration::from_secs(3),
            now.checked_sub(Duration::from_millis(5)).unwrap(),
        ] {
            let converted = instant_of(kernel_ns(moment));
            let off = converted.max(moment) - converted.min(moment);
            // Each direction reads two clocks one after the other; the machine may pause in between, for no longer than all took.
            assert!(off < now.elapsed() + Duration::from_millis(1), "{off:?}");
        }
    }
}
