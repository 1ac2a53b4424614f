//! The only place of this crate that reads time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::thread::ClockId;

/// Nanoseconds in a second.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// Run time: nanoseconds since an epoch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    epoch: Instant,
}

impl Clock {
    pub(crate) fn new(epoch: Instant) -> Self {
        Self { epoch }
    }

    /// Nanoseconds since the epoch; 0 before it.
    #[inline]
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn now(&self) -> u64 {
        nanoseconds(Instant::now().saturating_duration_since(self.epoch))
    }

    /// Unix time of run time 0, ns.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn unix_ns(&self) -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        nanoseconds(now.unwrap_or_default()).saturating_sub(self.now())
    }

    /// Nanoseconds from now to a moment of run time, which may lie before the epoch; 0 when it has passed.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn until(&self, moment_ns: u64) -> u64 {
        let moment = self.epoch + Duration::from_nanos(moment_ns);
        nanoseconds(moment.saturating_duration_since(Instant::now()))
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
    let used = rustix::time::clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(used.tv_sec).unwrap_or(0);
    let nanoseconds = u64::try_from(used.tv_nsec).unwrap_or(0);
    seconds * 1_000_000 + nanoseconds / 1000
}
