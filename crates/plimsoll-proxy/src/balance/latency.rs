//! Latency of a server as the load balancer uses it: a decaying peak.

use std::sync::atomic::{AtomicU64, Ordering};

use plimsoll_net::clock::Nanoseconds;

/// Decay time of a peak, ns.
const FADES_OVER_NS: f64 = 10e9;

/// A latency above the remembered one replaces it at once; one below lowers it slowly.
///
/// Loops write it without coordination: of two concurrent updates one may be lost, which is harmless.
#[derive(Debug, Default)]
pub(crate) struct PeakEwma {
    /// Nanoseconds as the bits of a float; 0 is unknown.
    estimate: AtomicU64,
    at: AtomicU64,
}

impl PeakEwma {
    /// Records the latency of a response.
    pub(crate) fn observe(&self, now: Nanoseconds, latency: Nanoseconds) {
        let latency = latency as f64;
        let old = f64::from_bits(self.estimate.load(Ordering::Relaxed));
        let new = if latency >= old {
            latency
        } else {
            let weight = fading(now.saturating_sub(self.at.load(Ordering::Relaxed)));
            old * weight + latency * (1.0 - weight)
        };
        self.estimate.store(new.to_bits(), Ordering::Relaxed);
        self.at.store(now, Ordering::Relaxed);
    }

    /// The current value, ns; `None` before the first observation.
    pub(crate) fn now(&self, now: Nanoseconds) -> Option<f64> {
        let estimate = f64::from_bits(self.estimate.load(Ordering::Relaxed));
        let age = now.saturating_sub(self.at.load(Ordering::Relaxed));
        // A server that was not used for long deserves another try.
        (estimate > 0.0).then(|| estimate * fading(age))
    }

    /// Resets it, as for a server that comes back.
    pub(crate) fn forget(&self) {
        self.estimate.store(0, Ordering::Relaxed);
    }
}

fn fading(age: Nanoseconds) -> f64 {
    (-(age as f64) / FADES_OVER_NS).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn peaks_count_at_once_and_fade() {
        let latency = PeakEwma::default();
        assert_eq!(latency.now(0), None);
        latency.observe(0, 10 * MS);
        latency.observe(MS, 100 * MS);
        assert_eq!(latency.now(MS), Some(100e6));
        // A better response a moment later hardly counts, one after ten seconds by two thirds.
        latency.observe(2 * MS, 10 * MS);
        assert!(latency.now(2 * MS).unwrap() > 99.9e6);
        latency.observe(10_002 * MS, 10 * MS);
        let expected = 10e6 + 90e6 * (-1.0_f64).exp();
        assert!((latency.now(10_002 * MS).unwrap() - expected).abs() < 0.1e6);
    }
}
