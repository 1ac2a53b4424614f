//! Hosts that carried a part of a load each: what every one of them did, for itself.
//!
//! Counts and histograms are those of its own windows, added up. The windows of a run are the sums over all workers;
//! percentiles come from merged histograms, for one worker as for all.

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::outcome::OutcomeCounts;
use crate::window::{GeneratorUse, Window};

/// Workers of one load at most.
pub const WORKERS_MAX: u32 = 256;

/// Event loops of all workers of one load at most.
pub const LOOPS_MAX: u32 = 1024;

/// Millionths of a whole, the unit of shares in histograms.
const PPM: f64 = 1e6;

/// What became of a worker that carried a part of the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerRecord {
    /// Its name; no other worker of the run has it.
    pub name: String,
    /// The region that it was labelled with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Its event loops.
    pub loops: u32,
    /// Arrivals that were due in its part.
    pub offered: u64,
    /// Its requests that ended, by outcome.
    pub outcomes: OutcomeCounts,
    /// Response time (done − due) of its good answers, µs.
    pub response: Histogram,
    /// The judged seconds that it delivered.
    pub judged: JudgedSeconds,
    /// Its time of day less that of the coordinator, µs.
    pub clock_offset_us: i64,
    /// By how much the offset, and with it the common start, may be wrong, µs.
    pub clock_error_us: u64,
    /// By how much its clock ran away from that of the coordinator between the start and the end of the load, µs.
    pub clock_drift_us: i64,
    /// The first second of run time of which its results are missing because it was lost; `None` for one that stayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_at: Option<u32>,
}

/// The generator of a worker in the seconds that are judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JudgedSeconds {
    /// How many.
    pub count: u32,
    /// Lag for an arrival (taken up − due), µs.
    pub lag: Histogram,
    /// Share of its machine's CPU that the hypervisor gave to others, ppm, a value for each second in which it is known.
    pub steal_ppm: Histogram,
    /// Share of the periods of its CPU quota in which its cgroup stopped it, ppm, a value for each second in which it is known.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub throttled_ppm: Histogram,
    /// Resources of its loops.
    pub generator: GeneratorUse,
}

/// What others left of a worker's CPU in one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostUse {
    /// Share of all its cores that the hypervisor gave to others, 0 to 1; `None` where it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal: Option<f64>,
    /// Share of the periods of its CPU quota in which a cgroup at or above it stopped it, 0 to 1; 0 without a quota, `None`
    /// where it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<f64>,
}

impl WorkerRecord {
    /// Its requests that ended.
    pub fn requests(&self) -> u64 {
        self.outcomes.total()
    }

    /// Adds what it did in a later load of the same search. Its clock is as it was known last.
    pub fn add_load(&mut self, later: &Self) {
        self.offered += later.offered;
        self.outcomes.merge(&later.outcomes);
        self.response.merge(&later.response);
        self.judged.merge(&later.judged);
        self.clock_offset_us = later.clock_offset_us;
        self.clock_error_us = self.clock_error_us.max(later.clock_error_us);
        self.clock_drift_us = self.clock_drift_us.saturating_add(later.clock_drift_us);
        self.lost_at = self.lost_at.or(later.lost_at);
    }

    /// Who it was, without what it sent and measured: of a load that did not go to the target.
    #[must_use]
    pub fn without_counts(self) -> Self {
        Self {
            offered: 0,
            outcomes: OutcomeCounts::default(),
            response: Histogram::new(),
            judged: JudgedSeconds::default(),
            ..self
        }
    }

    /// Adds one of its seconds; the generator counts in judged ones.
    pub fn add(&mut self, window: &Window, host: HostUse, is_judged: bool) {
        self.offered += window.offered;
        self.outcomes.merge(&window.outcomes);
        self.response.merge(&window.response);
        if is_judged {
            self.judged.add(window, host);
        }
    }
}

impl JudgedSeconds {
    fn add(&mut self, window: &Window, host: HostUse) {
        self.count += 1;
        self.lag.merge(&window.lag);
        self.generator.merge(window.generator);
        if let Some(steal) = host.steal {
            self.steal_ppm.record(ppm(steal), 1);
        }
        if let Some(throttled) = host.throttled {
            self.throttled_ppm.record(ppm(throttled), 1);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.lag.merge(&other.lag);
        self.steal_ppm.merge(&other.steal_ppm);
        self.throttled_ppm.merge(&other.throttled_ppm);
        self.generator.merge(other.generator);
    }

    /// Share of the CPU of so many loops that they used, 0 to 1.
    pub fn loop_cpu(&self, loops: u32) -> f64 {
        let whole_us = f64::from(loops.max(1)) * f64::from(self.count.max(1)) * 1e6;
        self.generator.loop_cpu_us as f64 / whole_us
    }

    /// Share of the seconds in which more than `bound`, 0 to 1, of the CPU was stolen.
    pub fn stolen_seconds(&self, bound: f64) -> f64 {
        share_above(&self.steal_ppm, bound)
    }

    /// Share of the seconds in which the worker was stopped in more than `bound`, 0 to 1, of the periods of its quota.
    pub fn throttled_seconds(&self, bound: f64) -> f64 {
        share_above(&self.throttled_ppm, bound)
    }
}

/// A share in millionths.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share, from 0 to 1"
)]
fn ppm(share: f64) -> u64 {
    (share.clamp(0.0, 1.0) * PPM) as u64
}

/// Share of the values, in millionths, above `bound`, 0 to 1; 0 without values.
fn share_above(values: &Histogram, bound: f64) -> f64 {
    values.count_above(ppm(bound)) as f64 / values.count().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Outcome;

    fn window(second: u32, lag_us: u64) -> Window {
        let mut window = Window::new(second);
        window.offered = 3;
        window.outcomes.add_many(Outcome::Ok, 2);
        window.outcomes.add(Outcome::Timeout);
        window.response.record(1000, 2);
        window.lag.record(lag_us, 3);
        window.generator.loop_cpu_us = 500_000;
        window.generator.ports_exhausted = 1;
        window
    }

    #[test]
    fn all_seconds_count_and_the_generator_only_in_judged_ones() {
        let mut record = WorkerRecord::default();
        let host = |steal, throttled| HostUse { steal, throttled };
        record.add(&window(0, 9_000), host(Some(1.0), Some(1.0)), false);
        record.add(&window(1, 10), host(Some(0.2), Some(0.0)), true);
        record.add(&window(2, 10), host(Some(0.0), Some(0.1)), true);
        record.add(&window(3, 10), host(None, Some(0.1)), true);
        assert_eq!((record.offered, record.requests()), (12, 12));
        assert_eq!(record.response.count(), 8);
        let judged = &record.judged;
        assert_eq!((judged.count, judged.lag.count()), (3, 9));
        assert_eq!(judged.lag.quantile(1.0), Some(10));
        assert_eq!(judged.generator.ports_exhausted, 3);
        assert!((judged.loop_cpu(2) - 0.25).abs() < 1e-12);
        assert!((judged.stolen_seconds(0.05) - 0.5).abs() < 1e-12);
        assert!((judged.throttled_seconds(0.05) - 2.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn loads_of_a_search_add_up_to_one_long_load() {
        let host = HostUse {
            steal: Some(0.2),
            throttled: Some(0.1),
        };
        let load = |seconds: std::ops::Range<u32>, clock_error_us| {
            let mut record = WorkerRecord {
                clock_error_us,
                ..WorkerRecord::default()
            };
            for second in seconds {
                record.add(&window(second, u64::from(second)), host, second > 0);
            }
            record
        };
        let mut sum = load(0..3, 70);
        sum.add_load(&load(3..7, 40));
        assert_eq!(sum, load(0..7, 70));
        sum.add_load(&WorkerRecord {
            lost_at: Some(7),
            clock_offset_us: 5,
            ..WorkerRecord::default()
        });
        assert_eq!((sum.lost_at, sum.clock_offset_us), (Some(7), 5));
        let nothing = sum.without_counts();
        assert_eq!((nothing.requests(), nothing.judged.count), (0, 0));
        assert_eq!((nothing.lost_at, nothing.clock_error_us), (Some(7), 70));
    }

    #[test]
    fn a_record_survives_json() {
        let mut record = WorkerRecord {
            name: "b".to_owned(),
            region: Some("japan-east".to_owned()),
            loops: 2,
            clock_offset_us: -500_000,
            lost_at: Some(7),
            ..WorkerRecord::default()
        };
        let host = HostUse {
            steal: Some(0.5),
            throttled: Some(0.25),
        };
        record.add(&window(1, 10), host, true);
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<WorkerRecord>(&text).unwrap(), record);
        // A log from before quotas were read.
        let mut older: serde_json::Value = serde_json::from_str(&text).unwrap();
        let judged = older["judged"].as_object_mut().unwrap();
        judged.remove("throttled_ppm").unwrap();
        let older: WorkerRecord = serde_json::from_value(older).unwrap();
        assert!(older.judged.throttled_ppm.is_empty());
    }
}
