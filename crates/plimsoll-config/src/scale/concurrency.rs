//! Requests in flight below their limit: the autoscaler of Knative.

use std::time::Duration;

use crate::document::{SettingsMap as _, count, number, settings, share, time, time_or_zero};

settings! {
    /// Requests in flight below their limit, by the arithmetic and the defaults of Knative's autoscaler (KPA).
    #[derive(Clone, Debug, PartialEq)]
    pub struct ConcurrencyPolicy, CONCURRENCY "concurrency" {
        /// Requests in flight that a replica takes at most. Default: `in_flight` of `replica`.
        limit: Option<f64> = None, "limit": number();
        /// Share of the limit that is aimed at.
        share: f64 = 0.7, "share": share("a share such as 70%");
        /// Interval of decisions.
        every: Duration = Duration::from_secs(2), "every": time().within(SECOND, HOUR, "1s to 1h");
        /// Time over which requests in flight are averaged.
        window: Duration = Duration::from_mins(1), "window": time().within(SECOND, HOUR, "1s to 1h");
        /// Length of the panic window, as a share of `window`.
        panic_window: f64 = 0.1, "panic_window": share("a share such as 10%");
        /// Multiple of the ready replicas that the panic window has to want before only growth is allowed, in per cent.
        panic_percent: u32 = 200, "panic_percent": count(101..=1000);
        /// How many times the ready replicas may be wanted at most.
        up_rate: u32 = 1000, "up_rate": count(2..=10_000);
        /// By how much the ready replicas may be divided at most.
        down_rate: u32 = 2, "down_rate": count(2..=10_000);
        /// Time of which the highest wish counts.
        delay: Duration = Duration::ZERO, "delay": time_or_zero().within(Duration::ZERO, HOUR, "0 to 1h");
    }
}

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_hours(1);

impl Default for ConcurrencyPolicy {
    fn default() -> Self {
        Self::defaults()
    }
}
