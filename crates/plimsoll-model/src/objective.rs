//! What counts as good: latency bounds at quantiles, and a share of errors.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;

/// At least a share `quantile` of all requests must be answered well within `within_us`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyBound {
    /// Share of requests, above 0 and below 1 (0.95 for p95); in thresholds also 1, every request, and 0, the fastest.
    pub quantile: f64,
    /// Response time in µs, counted from the moment the request was due.
    pub within_us: u64,
}

/// All bounds must hold. A failed request counts as infinitely slow in every latency bound.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Objective {
    /// Latency bounds; may be empty when only errors are judged.
    pub latency: Vec<LatencyBound>,
    /// Highest share of failed requests, 0 to 1; `None` when errors are judged by latency bounds only.
    pub errors_max: Option<f64>,
    /// Highest mean response time of good answers, µs; in thresholds only. Failed requests are not included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_us_max: Option<u64>,
    /// Bounds of the time from a broadcast's stamp to its receipt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broadcast: Vec<LatencyBound>,
    /// Lowest share of the expected broadcasts that are received, 0 to 1; it must be above that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reach_min: Option<f64>,
}

/// Requests of an interval, as an objective evaluates them.
#[derive(Clone, Copy, Debug)]
pub struct Answers<'a> {
    /// Response times of good answers, µs.
    pub good: &'a Histogram,
    /// Requests that failed.
    pub failed: u64,
}

impl Answers<'_> {
    /// All requests.
    pub fn total(&self) -> u64 {
        self.good.count() + self.failed
    }

    /// Requests that failed or took longer than `within_us`.
    pub fn bad(&self, within_us: u64) -> u64 {
        self.failed + self.good.count_above(within_us)
    }
}

impl LatencyBound {
    /// Requests out of `total` that may be bad while the bound holds.
    pub fn bad_allowed(&self, total: f64) -> f64 {
        // 1 − 0.9 is a hair below 0.1 in binary: without the allowance, 1 bad of 10 would break a p90.
        (1.0 - self.quantile) * total * (1.0 + 1e-12)
    }

    /// Whether the bound holds over `answers`.
    pub fn holds(&self, answers: Answers<'_>) -> bool {
        if self.quantile <= 0.0 {
            return answers.bad(self.within_us) < answers.total().max(1);
        }
        answers.bad(self.within_us) as f64 <= self.bad_allowed(answers.total() as f64)
    }

    /// The quantile as it is written: `p95`, `p99.9`, `max`.
    pub fn quantile_name(&self) -> String {
        if self.quantile >= 1.0 {
            return "max".to_owned();
        }
        if self.quantile <= 0.0 {
            return "min".to_owned();
        }
        let percent = (self.quantile * 1e6).round() / 1e4;
        format!("p{percent}")
    }
}

impl Objective {
    /// Whether every bound holds over `answers`; vacuously true without requests.
    pub fn holds(&self, answers: Answers<'_>) -> bool {
        let latency = self.latency.iter().all(|bound| bound.holds(answers));
        latency && self.errors_hold(answers) && self.mean_holds(answers)
    }

    /// Whether the mean response time of good answers is within its bound; not when all have failed.
    pub fn mean_holds(&self, answers: Answers<'_>) -> bool {
        self.mean_us_max
            .is_none_or(|max| match answers.good.mean() {
                Some(mean) => mean <= max as f64,
                None => answers.failed == 0,
            })
    }

    /// Whether it has no bound.
    pub fn is_empty(&self) -> bool {
        !self.has_request_bounds() && !self.has_broadcast_bounds()
    }

    /// Whether it has a bound on requests.
    pub fn has_request_bounds(&self) -> bool {
        !self.latency.is_empty() || self.errors_max.is_some() || self.mean_us_max.is_some()
    }

    /// Whether it has a bound on broadcasts.
    pub fn has_broadcast_bounds(&self) -> bool {
        !self.broadcast.is_empty() || self.reach_min.is_some()
    }

    /// Whether broadcasts met the objective: their latencies, and the share that was received. Where none had a
    /// timestamp, or none was expected, the bound is not met: nothing proves that it was.
    pub fn broadcasts_hold(&self, latency: &Histogram, reach: Option<f64>) -> bool {
        let is_timed = self.broadcast.is_empty() || !latency.is_empty();
        let is_counted = self.reach_min.is_none() || reach.is_some();
        is_timed && is_counted && !self.broadcasts_break(latency, reach)
    }

    /// Whether a measured value of broadcasts breaks a bound; values that were not measured break none.
    pub fn broadcasts_break(&self, latency: &Histogram, reach: Option<f64>) -> bool {
        let answers = Answers {
            good: latency,
            failed: 0,
        };
        let in_time = self.broadcast.iter().all(|bound| bound.holds(answers));
        let reached = self.reach_min.zip(reach);
        !in_time || reached.is_some_and(|(min, reach)| !reaches(min, reach))
    }

    /// Whether the share of failed requests is within bounds.
    pub fn errors_hold(&self, answers: Answers<'_>) -> bool {
        self.errors_max
            .is_none_or(|max| answers.failed as f64 <= max * answers.total() as f64)
    }

    /// The bound with the highest quantile: it needs the most requests to be judged.
    pub fn strictest(&self) -> Option<LatencyBound> {
        self.latency
            .iter()
            .copied()
            .max_by(|a, b| a.quantile.total_cmp(&b.quantile))
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for bound in &self.latency {
            write!(
                f,
                "{separator}{} < {}",
                bound.quantile_name(),
                millis(bound.within_us)
            )?;
            separator = ", ";
        }
        if let Some(max) = self.mean_us_max {
            write!(f, "{separator}avg < {}", millis(max))?;
            separator = ", ";
        }
        if let Some(max) = self.errors_max {
            write!(f, "{separator}errors < {}%", (max * 1e8).round() / 1e6)?;
            separator = ", ";
        }
        for bound in &self.broadcast {
            let (quantile, within) = (bound.quantile_name(), millis(bound.within_us));
            write!(f, "{separator}broadcast {quantile} < {within}")?;
            separator = ", ";
        }
        if let Some(min) = self.reach_min {
            write!(f, "{separator}reach > {}%", (min * 1e8).round() / 1e6)?;
        }
        Ok(())
    }
}

/// Whether a share is above its bound; all of them is above any, 100 % included.
pub fn reaches(min: f64, reach: f64) -> bool {
    reach > min || reach >= 1.0
}

/// A bound as it is written: whole milliseconds without a fraction.
fn millis(us: u64) -> String {
    if us.is_multiple_of(1000) {
        format!("{}ms", us / 1000)
    } else {
        format!("{us}us")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good(values_us: &[(u64, u64)]) -> Histogram {
        let mut histogram = Histogram::new();
        for &(value, count) in values_us {
            histogram.record(value, count);
        }
        histogram
    }

    fn p95(within_us: u64) -> Objective {
        Objective {
            latency: vec![LatencyBound {
                quantile: 0.95,
                within_us,
            }],
            errors_max: Some(0.01),
            ..Objective::default()
        }
    }

    #[test]
    fn a_failure_is_infinitely_slow() {
        let fast = good(&[(10, 95)]);
        let objective = Objective {
            errors_max: None,
            ..p95(1000)
        };
        assert!(objective.holds(Answers {
            good: &fast,
            failed: 5
        }));
        assert!(!objective.holds(Answers {
            good: &fast,
            failed: 6
        }));
    }

    #[test]
    fn a_share_that_is_exactly_allowed_holds() {
        let slow = good(&[(10, 9), (100, 1)]);
        let p90 = LatencyBound {
            quantile: 0.9,
            within_us: 50,
        };
        assert!(p90.holds(Answers {
            good: &slow,
            failed: 0
        }));
    }

    #[test]
    fn errors_have_a_bound_of_their_own() {
        let fast = good(&[(10, 98)]);
        assert!(!p95(1000).holds(Answers {
            good: &fast,
            failed: 2
        }));
    }

    #[test]
    fn a_mean_is_of_good_answers_and_a_minimum_of_the_fastest() {
        let slow = good(&[(1000, 3), (9000, 1)]);
        let failed = |failed| Answers {
            good: &slow,
            failed,
        };
        let mean = |max| Objective {
            mean_us_max: Some(max),
            ..Objective::default()
        };
        assert!(mean(3010).holds(failed(9)) && !mean(2990).holds(failed(9)));
        let none = good(&[]);
        let all_failed = Answers {
            good: &none,
            failed: 1,
        };
        assert!(!mean(3010).holds(all_failed));
        let fastest = |within_us| LatencyBound {
            quantile: 0.0,
            within_us,
        };
        assert!(fastest(1000).holds(failed(9)) && !fastest(900).holds(failed(0)));
        assert!(!fastest(1000).holds(all_failed));
        assert_eq!(mean(3000).to_string(), "avg < 3ms");
        assert_eq!(fastest(1000).quantile_name(), "min");
    }

    #[test]
    fn broadcasts_are_judged_by_time_and_reach() {
        let objective = Objective {
            broadcast: vec![LatencyBound {
                quantile: 0.99,
                within_us: 500_000,
            }],
            reach_min: Some(0.9999),
            ..Objective::default()
        };
        let fast = good(&[(1000, 100)]);
        let slow = good(&[(1000, 90), (900_000, 10)]);
        assert!(objective.broadcasts_hold(&fast, Some(1.0)));
        assert!(!objective.broadcasts_hold(&fast, Some(0.9999)));
        assert!(!objective.broadcasts_hold(&fast, None));
        assert!(!objective.broadcasts_hold(&slow, Some(1.0)));
        assert!(!objective.broadcasts_hold(&Histogram::new(), Some(1.0)));
        assert!(!objective.is_empty() && Objective::default().broadcasts_hold(&slow, None));
        let text = "broadcast p99 < 500ms, reach > 99.99%";
        assert_eq!(objective.to_string(), text);
    }

    #[test]
    fn writes_itself_as_people_do() {
        assert_eq!(p95(500_000).to_string(), "p95 < 500ms, errors < 1%");
        let tail = Objective {
            latency: vec![LatencyBound {
                quantile: 0.999,
                within_us: 2500,
            }],
            errors_max: None,
            ..Objective::default()
        };
        assert_eq!(tail.to_string(), "p99.9 < 2500us");
    }
}
