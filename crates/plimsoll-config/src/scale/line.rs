//! From the measured load line of a replica.

use std::time::Duration;

use crate::document::{SettingsMap as _, count, settings, share, time};

settings! {
    /// From the measured load line of a replica: the offered rate, a forecast over the start time of a replica, and what
    /// goes wrong in spite of both.
    #[derive(Clone, Debug, PartialEq)]
    pub struct LinePolicy, LINE "line" {
        /// Share of the load lines that the mean of 20 s may use.
        utilisation: f64 = 0.75, "utilisation": share("a share such as 75%");
        /// Share of the load lines that the busiest 10 s of a minute may use.
        peak_utilisation: f64 = 0.95, "peak_utilisation": share("a share such as 95%");
        /// Interval of decisions.
        every: Duration = Duration::from_secs(1), "every": time().within(SECOND, MINUTE, "1s to 1m");
        /// How far ahead the rate is forecast. Default: `start` of `replica` and 5 s, or how late signals are if that is
        /// longer.
        horizon: Option<Duration> = None, "horizon": time().within(SECOND, Duration::from_hours(1), "1s to 1h");
        /// Response time (p95) beyond which replicas are added although the rates fit. Default: shed requests alone count.
        objective: Option<Duration> = None, "objective": time();
        /// How long a tenth too much is held before it is removed; more is held for as much shorter, and nothing shorter than
        /// a start takes.
        hold: Duration = Duration::from_mins(5), "hold": time().within(SECOND, Duration::from_hours(1), "1s to 1h");
        /// Percentage of the replicas that is removed at once at most; at least one.
        remove_percent: u32 = 25, "remove_percent": count(1..=100);
        /// Interval between removals.
        remove_every: Duration = Duration::from_secs(15),
            "remove_every": time().within(SECOND, Duration::from_hours(1), "1s to 1h");
    }
}

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);

impl Default for LinePolicy {
    fn default() -> Self {
        Self::defaults()
    }
}
