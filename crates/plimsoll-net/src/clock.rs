//! The only module of this crate that reads the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Nanoseconds since the edge was started; all internal timestamps use it.
pub type Nanoseconds = u64;

/// Time since the edge was started, the same for all event loops.
#[derive(Clone, Copy, Debug)]
pub struct EdgeClock {
    source: TimeSource,
}

#[derive(Clone, Copy, Debug)]
enum TimeSource {
    /// The machine's time, since this moment.
    Machine(Instant),
    Handed(HandedClock),
}

impl EdgeClock {
    /// Starts the clock.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn start() -> Self {
        Self {
            source: TimeSource::Machine(Instant::now()),
        }
    }

    /// Now.
    #[inline]
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn now(&self) -> Nanoseconds {
        match self.source {
            TimeSource::Machine(epoch) => {
                nanoseconds(Instant::now().saturating_duration_since(epoch))
            }
            TimeSource::Handed(clock) => clock.read(),
        }
    }
}

impl From<HandedClock> for EdgeClock {
    fn from(clock: HandedClock) -> Self {
        Self {
            source: TimeSource::Handed(clock),
        }
    }
}

/// A clock that stands still until whoever holds it lets time pass: what a test finds does not depend on how much of the
/// machine its threads get.
#[derive(Clone, Copy, Debug)]
pub struct HandedClock {
    ns: &'static AtomicU64,
}

impl HandedClock {
    /// A clock at the start of an edge. It lasts as long as the process, as each edge with it may.
    pub fn at_rest() -> Self {
        Self {
            ns: Box::leak(Box::new(AtomicU64::new(0))),
        }
    }

    /// Lets this much time pass at once.
    pub fn advance(self, by: Duration) {
        self.ns.fetch_add(nanoseconds(by), Ordering::Relaxed);
    }

    /// A nanosecond passes with each reading, so that two of them differ as those of the machine's clock do.
    fn read(self) -> Nanoseconds {
        self.ns.fetch_add(1, Ordering::Relaxed)
    }
}

/// By how much cached responses age ahead of the system's clock: nothing, until whoever started the edge says so. Tests
/// let hours pass with it.
#[derive(Clone, Debug, Default)]
pub struct AgeAhead {
    ms: Arc<AtomicU64>,
}

impl AgeAhead {
    /// Lets cached responses age by this much at once.
    pub fn advance(&self, by: Duration) {
        let ms = u64::try_from(by.as_millis()).unwrap_or(u64::MAX / 4);
        self.ms.fetch_add(ms, Ordering::Relaxed);
    }

    /// Milliseconds.
    #[inline]
    pub fn ms(&self) -> u64 {
        self.ms.load(Ordering::Relaxed)
    }
}

/// Wall-clock time.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub fn wall() -> SystemTime {
    SystemTime::now()
}

/// Wall-clock time in seconds since 1970.
pub fn unix_s() -> f64 {
    let since = wall().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}

/// Wall-clock time in milliseconds since 1970.
pub fn unix_ms() -> u64 {
    let since = wall()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX / 2)
}

/// A duration in nanoseconds, saturating.
#[inline]
pub fn nanoseconds(duration: Duration) -> Nanoseconds {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
