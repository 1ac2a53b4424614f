//! Names of the metrics of a run, and how each is compared.

use super::super::effect::Direction;
use super::super::trial::Scale;

/// The highest load that meets the objective, in the unit of the search.
pub const LOAD_LINE: &str = "load_line";
/// Complete answers per second.
pub const THROUGHPUT: &str = "throughput";
/// Mean response time of good answers, ms.
pub const MEAN: &str = "mean";
/// Median response time of good answers, ms.
pub const P50: &str = "p50";
/// 75th percentile, ms.
pub const P75: &str = "p75";
/// 90th percentile, ms.
pub const P90: &str = "p90";
/// 95th percentile, ms.
pub const P95: &str = "p95";
/// 99th percentile, ms.
pub const P99: &str = "p99";
/// Fastest good answer, ms.
pub const MIN: &str = "min";
/// Slowest good answer, ms.
pub const MAX: &str = "max";
/// Standard deviation of the response time of good answers, ms.
pub const SD: &str = "sd";
/// Share of requests that failed, 0 to 1.
pub const ERRORS: &str = "errors";
/// CPU time of the target by request, ms. With the label `process`, of other processes.
pub const CPU_PER_REQUEST: &str = "cpu_per_request";
/// Share of all CPUs that the target used, 0 to 1. With the label `process`, of other processes.
pub const CPU: &str = "cpu";
/// Resident memory of the target, bytes. With the label `process`, of other processes.
pub const MEMORY: &str = "memory";
/// Share of the time in which the busiest disk of the machine had work, 0 to 1.
pub const DISK: &str = "disk";
/// Requests that ended.
pub const REQUESTS: &str = "requests";
/// Of these, good.
pub const OK: &str = "ok";
/// Of these, failed.
pub const FAILED: &str = "failed";
/// Good answers below the first bound of the answer classes.
pub const FAST: &str = "fast";
/// Good answers between the bounds.
pub const MIDDLE: &str = "middle";
/// Good answers above the second bound.
pub const SLOW: &str = "slow";

/// Prefix of a time over good and failed requests together: `all_p95`.
pub const ALL_PREFIX: &str = "all_";
/// Prefix of a time over failed requests: `failed_p95`.
pub const FAILED_PREFIX: &str = "failed_";

/// How a metric is read and compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricDefinition {
    /// Which direction is good.
    pub direction: Direction,
    /// How values are compared.
    pub scale: Scale,
    /// Unit of its values; that of the search for a load line.
    pub unit: &'static str,
    /// The name for people.
    pub label: &'static str,
}

/// The definition of a metric of a run, by its name without labels; `None` for counts, which depend on how long a run
/// took, and for unknown names.
pub fn definition(name: &str) -> Option<MetricDefinition> {
    use Direction::{HigherIsBetter, LowerIsBetter};
    use Scale::{Difference, Ratio};
    let name = plimsoll_model::labels::metric(name);
    let name = name
        .strip_prefix(ALL_PREFIX)
        .or_else(|| name.strip_prefix(FAILED_PREFIX))
        .unwrap_or(name);
    let (direction, scale, unit, label) = match name {
        LOAD_LINE => (HigherIsBetter, Ratio, "", "load line"),
        THROUGHPUT => (HigherIsBetter, Ratio, "1/s", "throughput"),
        MEAN => (LowerIsBetter, Ratio, "ms", "mean"),
        P50 => (LowerIsBetter, Ratio, "ms", "p50"),
        P75 => (LowerIsBetter, Ratio, "ms", "p75"),
        P90 => (LowerIsBetter, Ratio, "ms", "p90"),
        P95 => (LowerIsBetter, Ratio, "ms", "p95"),
        P99 => (LowerIsBetter, Ratio, "ms", "p99"),
        MIN => (LowerIsBetter, Ratio, "ms", "fastest"),
        MAX => (LowerIsBetter, Ratio, "ms", "slowest"),
        SD => (LowerIsBetter, Ratio, "ms", "standard deviation"),
        ERRORS => (LowerIsBetter, Difference, "1", "errors"),
        CPU_PER_REQUEST => (LowerIsBetter, Ratio, "ms", "CPU per request"),
        CPU => (LowerIsBetter, Ratio, "1", "CPU"),
        MEMORY => (LowerIsBetter, Ratio, "By", "memory"),
        _ => return None,
    };
    Some(MetricDefinition {
        direction,
        scale,
        unit,
        label,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_and_labels_keep_the_definition() {
        assert_eq!(definition("all_p95"), definition(P95));
        assert_eq!(definition("failed_mean"), definition(MEAN));
        assert_eq!(definition("memory{process=behind}"), definition(MEMORY));
        assert_eq!(definition(REQUESTS), None);
        assert_eq!(definition("anything"), None);
    }
}
