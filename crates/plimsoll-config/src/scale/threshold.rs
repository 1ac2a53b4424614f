//! Steps when a signal crosses a bound.

use std::time::Duration;

use super::bound::bound;
use super::signal::{Signal, signal};
use crate::document::Shape::Text;
use crate::document::{
    DocumentNode, DocumentReader, SettingsMap as _, count, one_of, settings, time, time_or_zero,
};

/// Longest time over which periods are counted.
const BREACH_MAX: Duration = Duration::from_hours(6);

settings! {
    /// Steps when a signal crosses a bound: `{ signal: cpu, above: 75%, below: 35%, add: 1, remove: 1 }`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ThresholdPolicy, THRESHOLD "threshold" {
        /// The signal: `offered`, `served`, `queue`, `in_flight`, `latency`, `cpu` or `series NAME`. Sums are divided by the
        /// number of replicas; of CPU, replicas that start count as idle.
        signal: Signal = Signal::Cpu, "signal": Text => signal;
        /// Statistic of the signal over a period.
        statistic: Statistic = Statistic::Mean, "statistic": one_of![
            "mean" => Statistic::Mean,
            "max" => Statistic::Max,
            "min" => Statistic::Min,
        ];
        /// Grows above this value. Default: 75%.
        above: f64 = 0.75, "above": Text => bound;
        /// Shrinks below this value. Default: 35%.
        below: f64 = 0.35, "below": Text => bound;
        /// Length of a period.
        period: Duration = Duration::from_mins(1), "period": time().within(SECOND, HOUR, "1s to 1h");
        /// Periods in a row that must be beyond the bound.
        periods: u32 = 2, "periods": count(1..=100);
        /// Replicas that are added at once.
        add: u32 = 1, "add": count(1..=1000);
        /// Replicas that are removed at once.
        remove: u32 = 1, "remove": count(1..=1000);
        /// Time after a change in which nothing is changed; it begins when all replicas are ready.
        cooldown: Duration = Duration::from_mins(1), "cooldown": time_or_zero();
    }
}

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_hours(1);

/// How the values of a period become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Statistic {
    /// Their mean.
    #[default]
    Mean,
    /// The highest.
    Max,
    /// The lowest.
    Min,
}

impl ThresholdPolicy {
    /// Reads an item of `threshold:`.
    pub(super) fn read_checked(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Self> {
        let policy = Self::from_map(reader, node)?;
        if policy.below >= policy.above {
            let message = format!(
                "`below` ({}) is not lower than `above` ({})",
                policy.below, policy.above
            );
            reader.report(
                node,
                message,
                "a lower bound below the upper one, such as below: 35%, above: 75%",
            );
            return None;
        }
        if policy.period.saturating_mul(policy.periods) > BREACH_MAX {
            let message = "`period` times `periods` is longer than 6h";
            reader.report(node, message, "fewer or shorter periods");
            return None;
        }
        Some(policy)
    }
}

impl Default for ThresholdPolicy {
    fn default() -> Self {
        Self::defaults()
    }
}
