//! The one place of this crate that reads clocks.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use plimsoll_model::lock::lock;

/// Run time: whole seconds and moments since the start of the run.
#[derive(Clone, Copy, Debug)]
pub struct RunClock {
    epoch: Instant,
}

/// Lead time of a thread that starts at a whole second.
const LEAD: Duration = Duration::from_millis(150);

impl RunClock {
    /// A run whose second 0 begins as soon as its threads can be ready.
    #[expect(
        clippy::disallowed_methods,
        reason = "the clock module is where time is read"
    )]
    pub fn start() -> Self {
        Self {
            epoch: Instant::now() + 2 * LEAD,
        }
    }

    /// Second 0 of run time.
    pub fn epoch(&self) -> Instant {
        self.epoch
    }

    /// Time since second 0; zero before it.
    pub fn elapsed(&self) -> Duration {
        self.epoch.elapsed()
    }

    /// The first whole second that something started now can still make.
    #[expect(
        clippy::disallowed_methods,
        reason = "the clock module is where time is read"
    )]
    pub fn next_second(&self) -> u32 {
        let ready = Instant::now() + LEAD;
        match ready.checked_duration_since(self.epoch) {
            None => 0,
            Some(since) => u32::try_from(since.as_secs() + 1).unwrap_or(u32::MAX),
        }
    }

    /// How long until `second` begins; zero when it has.
    #[expect(
        clippy::disallowed_methods,
        reason = "the clock module is where time is read"
    )]
    pub fn until(&self, second: u32) -> Duration {
        let begin = self.epoch + Duration::from_secs(u64::from(second));
        begin.saturating_duration_since(Instant::now())
    }

    /// Waits until `second` begins, or a stop is requested, polling at every `glance`.
    pub fn wait_until(&self, second: u32, glance: Duration, is_stopped: impl Fn() -> bool) {
        let nobody = (Mutex::new(()), Condvar::new());
        let mut guard = lock(&nobody.0);
        loop {
            let left = self.until(second);
            if left.is_zero() || is_stopped() {
                return;
            }
            let waited = nobody.1.wait_timeout(guard, left.min(glance));
            guard = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A time limit that began when this was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeLimit {
    began: Instant,
    within: Duration,
}

impl TimeLimit {
    /// A limit that begins now.
    #[expect(
        clippy::disallowed_methods,
        reason = "the clock module is where time is read"
    )]
    pub(crate) fn start(within: Duration) -> Self {
        let began = Instant::now();
        Self { began, within }
    }

    /// Time since it began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Time that is left; zero when it is over.
    pub(crate) fn left(&self) -> Duration {
        self.within.saturating_sub(self.elapsed())
    }

    /// Whether it is over.
    pub(crate) fn is_over(&self) -> bool {
        self.left().is_zero()
    }
}

/// CPU time that this process has used, µs.
pub fn process_cpu_us() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let micros = time.tv_sec * 1_000_000 + time.tv_nsec / 1000;
    u64::try_from(micros).unwrap_or(0)
}

/// Milliseconds since 1970 by the wall clock.
#[expect(
    clippy::disallowed_methods,
    reason = "the clock module is where time is read"
)]
pub fn unix_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}
