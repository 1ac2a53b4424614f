//! A signal that is kept at a value: the arithmetic of the Horizontal Pod Autoscaler.

use std::time::Duration;

use super::bound::bound;
use super::signal::{Signal, signal};
use crate::document::Shape::Text;
use crate::document::{
    DocumentNode, DocumentReader, SettingsMap as _, count, one_of, settings, share, time,
    time_or_zero,
};

settings! {
    /// A signal that is kept at a value, by the arithmetic and the defaults of the Horizontal Pod Autoscaler.
    #[derive(Clone, Debug, PartialEq)]
    pub struct TargetPolicy, TARGET "target" {
        /// The signal: `offered`, `served`, `queue`, `in_flight`, `latency`, `cpu` or `series NAME`.
        signal: Signal = Signal::Cpu, "signal": Text => signal;
        /// The value of a replica: a share of CPU, or a part of a sum. Default: 70%.
        value: f64 = 0.7, "value": Text => bound;
        /// Interval of decisions.
        every: Duration = Duration::from_secs(15), "every": time().within(SECOND, HOUR, "1s to 1h");
        /// Time over which the signal is averaged.
        window: Duration = Duration::from_secs(15), "window": time().within(SECOND, HOUR, "1s to 1h");
        /// Relative distance from the value at which nothing is changed.
        tolerance: f64 = 0.1, "tolerance": share("a share such as 10%");
        /// Time of which the lowest wish counts before it grows.
        stabilise_up: Duration = Duration::ZERO, "stabilise_up": time_or_zero().within(Duration::ZERO, HOUR, "0 to 1h");
        /// Time of which the highest wish counts before it shrinks.
        stabilise_down: Duration = Duration::from_mins(5),
            "stabilise_down": time_or_zero().within(Duration::ZERO, HOUR, "0 to 1h");
        /// Replicas that may be added within `rate_period`; the larger of this and `up_percent` counts.
        up_replicas: u32 = 4, "up_replicas": count(0..=10_000);
        /// The same as a percentage of the replicas.
        up_percent: u32 = 100, "up_percent": count(0..=100_000);
        /// Percentage of the replicas that may be removed within `rate_period`.
        down_percent: u32 = 100, "down_percent": count(0..=100);
        /// Time over which additions and removals are counted.
        rate_period: Duration = Duration::from_secs(15), "rate_period": time().within(SECOND, HOUR, "1s to 1h");
        /// What happens when the signal is at its upper end: CPU at 100 %, requests in flight at their limit. It shows no
        /// longer how much is missing.
        saturated: Saturated = Saturated::Refuse, "saturated": one_of![
            "refuse" => Saturated::Refuse,
            "accept" => Saturated::Accept,
        ];
    }
}

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_hours(1);

/// What becomes of a signal at its upper end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Saturated {
    /// It is not used.
    #[default]
    Refuse,
    /// It is used, as by the autoscaler of Kubernetes.
    Accept,
}

impl TargetPolicy {
    /// Reads an item of `target:`.
    pub(super) fn read_checked(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Self> {
        let policy = Self::from_map(reader, node)?;
        if policy.signal == Signal::Cpu && policy.value > 1.0 {
            let message = format!("a CPU share of {}% is never reached", policy.value * 100.0);
            reader.report(node, message, "1% to 100%, such as 70%");
            return None;
        }
        if policy.up_replicas == 0 && policy.up_percent == 0 {
            let message = "`up_replicas` and `up_percent` are both 0: it could never grow";
            reader.report(node, message, "one of them above 0");
            return None;
        }
        Some(policy)
    }
}

impl Default for TargetPolicy {
    fn default() -> Self {
        Self::defaults()
    }
}
