//! Metrics of an event loop. Each loop has its own; readers add them up.
//!
//! One thread writes, others read: a plain store is enough, and no loop waits for another.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock::Nanoseconds;
use crate::fragment_outcome::FragmentOutcome;
use crate::reason::Reason;

/// A number that only its loop changes.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds to the number.
    #[inline]
    pub fn add(&self, count: u64) {
        let sum = self.0.load(Ordering::Relaxed).wrapping_add(count);
        self.0.store(sum, Ordering::Relaxed);
    }

    /// Adds one.
    #[inline]
    pub fn increment(&self) {
        self.add(1);
    }

    /// Subtracts one.
    #[inline]
    pub fn decrement(&self) {
        self.add(u64::MAX);
    }

    /// Follows a counter kept elsewhere in the same loop; never decreases.
    pub fn raise(&self, count: u64) {
        self.0.store(self.get().max(count), Ordering::Relaxed);
    }

    /// The number.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Microseconds below which each has a bucket of its own.
const LINEAR: u64 = 16;
/// Buckets per doubling above.
const PER_DOUBLING: u64 = 8;
/// Number of buckets: more than an hour.
const PLACES: usize = 248;

/// Histogram of times, exact to an eighth.
#[derive(Debug)]
pub struct LatencyHistogram {
    counts: Box<[Counter]>,
    sum_us: Counter,
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self {
            counts: (0..PLACES).map(|_| Counter::default()).collect(),
            sum_us: Counter::default(),
        }
    }
}

impl LatencyHistogram {
    /// Counts a time.
    #[inline]
    pub fn record(&self, time: Nanoseconds) {
        let us = time / 1000;
        self.counts[place(us)].increment();
        self.sum_us.add(us);
    }

    /// Adds its counts to a sum.
    pub fn add_to(&self, sum: &mut TimesSum) {
        sum.counts.resize(PLACES, 0);
        for (sum, count) in sum.counts.iter_mut().zip(&self.counts) {
            *sum += count.get();
        }
        sum.sum_us += self.sum_us.get();
    }
}

/// Histograms of several loops added up.
#[derive(Clone, Debug, Default)]
pub struct TimesSum {
    counts: Vec<u64>,
    /// The sum of all times, µs.
    pub sum_us: u64,
}

impl TimesSum {
    /// The times since an earlier sum of the same histograms.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = earlier.counts.iter().copied().chain(std::iter::repeat(0));
        let counts = self.counts.iter().zip(before);
        Self {
            counts: counts
                .map(|(count, before)| count.saturating_sub(before))
                .collect(),
            sum_us: self.sum_us.saturating_sub(earlier.sum_us),
        }
    }

    /// The number of times.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Count below a power of two of microseconds, from 16 on.
    pub fn below(&self, us: u64) -> u64 {
        self.counts.iter().take(place(us)).sum()
    }

    /// A quantile, ms: the upper bound of its bucket.
    pub fn quantile_ms(&self, share: f64) -> Option<f64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank = (count as f64 * share).ceil().max(1.0);
        let mut cumulative = 0;
        let place = self.counts.iter().position(|bucket_count| {
            cumulative += bucket_count;
            cumulative as f64 >= rank
        })?;
        Some(upper_us(place as u64) as f64 / 1000.0)
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "bounded by PLACES")]
fn place(us: u64) -> usize {
    if us < LINEAR {
        return us as usize;
    }
    let doubling = u64::from(us.ilog2());
    let within = (us >> (doubling - 3)) & (PER_DOUBLING - 1);
    ((LINEAR + (doubling - 4) * PER_DOUBLING + within) as usize).min(PLACES - 1)
}

fn upper_us(place: u64) -> u64 {
    if place < LINEAR {
        return place + 1;
    }
    let (doubling, within) = (
        (place - LINEAR) / PER_DOUBLING + 4,
        (place - LINEAR) % PER_DOUBLING,
    );
    (1 << doubling) + ((within + 1) << (doubling - 3))
}

/// All metrics of a loop.
#[derive(Debug, Default)]
pub struct LoopMetrics {
    /// Client connections accepted.
    pub accepted: Counter,
    /// Client connections rejected at a limit.
    pub rejected: Counter,
    /// Open client connections.
    pub connections: Counter,
    /// Open tunnels.
    pub tunnels: Counter,
    /// Requests received.
    pub requests: Counter,
    /// Responses by status class, 1xx to 5xx.
    pub statuses: [Counter; 5],
    /// Synthetic responses, by reason.
    pub own: [Counter; Reason::COUNT],
    /// Fallbacks by the reason that they stand for.
    pub fallback_causes: [Counter; Reason::COUNT],
    /// Requests rejected because connections hold as much memory as they may.
    pub memory_full: Counter,
    /// Connections to servers opened.
    pub connects: Counter,
    /// Failed connections to servers.
    pub connects_failed: Counter,
    /// Retries.
    pub retries: Counter,
    /// Truncated responses.
    pub broken: Counter,
    /// Requests canceled by the client before their response.
    pub clients_gone: Counter,
    /// Bytes to clients.
    pub bytes_out: Counter,
    /// Bytes from clients.
    pub bytes_in: Counter,
    /// Access-log lines dropped because the disk was too slow.
    pub log_lines_dropped: Counter,
    /// Compressed responses.
    pub compressed: Counter,
    /// Responses not compressed for lack of CPU time or memory.
    pub compress_skipped: Counter,
    /// Bytes of bodies before and after compression.
    pub compress_in: Counter,
    /// See `compress_in`.
    pub compress_out: Counter,
    /// Pages of the origin kept as fallbacks.
    pub fallbacks_learned: Counter,
    /// Spans dropped because the collector was too slow.
    pub spans_dropped: Counter,
    /// Cache hits.
    pub cache_hits: Counter,
    /// Cache hits with a stale response.
    pub cache_stale: Counter,
    /// Cache misses, revalidations included.
    pub cache_misses: Counter,
    /// Of these, requests that waited for the fetch of another.
    pub cache_collapsed: Counter,
    /// Requests that bypassed the cache.
    pub cache_passed: Counter,
    /// Cached responses that a server confirmed (304).
    pub cache_renewed: Counter,
    /// Connected WebSocket, Server-Sent Events and Mercure clients of the hub.
    pub hub_sockets: Counter,
    /// See `hub_sockets`.
    pub hub_events: Counter,
    /// See `hub_sockets`.
    pub hub_mercure: Counter,
    /// Messages delivered to them, and messages dropped because they were too slow.
    pub hub_delivered: Counter,
    /// See `hub_delivered`.
    pub hub_dropped: Counter,
    /// Clients disconnected because they were too slow.
    pub hub_disconnected: Counter,
    /// Subscriptions that recovered all missed messages, and those that could not.
    pub hub_recovered: Counter,
    /// See `hub_recovered`.
    pub hub_unrecovered: Counter,
    /// Fragments by outcome.
    pub fragments: [Counter; FragmentOutcome::COUNT],
    /// Time from the head of a request to the last byte of its response.
    pub answer_times: LatencyHistogram,
    /// Queue time of requests that waited.
    pub wait_times: LatencyHistogram,
    /// Time from sending a message until all clients of this loop were written to.
    pub hub_lag: LatencyHistogram,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_has_its_place_within_an_eighth() {
        let mut last = 0;
        for us in (0..100_000).chain([1 << 31, 1 << 40]) {
            let at = place(us);
            assert!(at >= last && at < PLACES);
            last = at;
            if at < PLACES - 1 {
                let upper = upper_us(at as u64);
                assert!(us < upper && upper - us <= us / 8 + 1, "{us} below {upper}");
            }
        }
    }

    #[test]
    fn quantiles_and_counts_below_powers_of_two_hold() {
        let times = LatencyHistogram::default();
        (1..=1000).for_each(|us| times.record(us * 1000));
        let mut sum = TimesSum::default();
        times.add_to(&mut sum);
        assert_eq!(sum.count(), 1000);
        assert_eq!(sum.below(512), 511);
        let median = sum.quantile_ms(0.5).unwrap();
        assert!((0.5..0.57).contains(&median), "{median}");
        assert_eq!(TimesSum::default().quantile_ms(0.5), None);
        (1..=10).for_each(|_| times.record(50_000_000));
        let mut later = TimesSum::default();
        times.add_to(&mut later);
        let minute = later.since(&sum);
        assert_eq!((minute.count(), minute.sum_us), (10, 500_000));
        assert!(minute.quantile_ms(0.5) > Some(49.9));
        assert_eq!(sum.since(&TimesSum::default()).count(), 1000);
    }
}
