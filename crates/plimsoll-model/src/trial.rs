//! One measurement at one load.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::journey::UserPhase;
use crate::plan::LoadUnit;
use crate::schedule::LoadPhase;
use crate::verdict::TrialVerdict;

/// Purpose of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialKind {
    /// The generator against a server that does nothing.
    SelfTest,
    /// One client in a closed loop: the response time without any queue, R₀.
    Single,
    /// Equal trials at a low rate, to learn how noisy the machine is (A/A).
    Noise,
    /// Doubling the rate until the objective breaks.
    Bracket,
    /// Narrowing the interval.
    Refine,
    /// Fresh trials at the lower edge.
    Confirm,
    /// A short trial at a low rate, to detect drift and leaks.
    Anchor,
    /// After a failure: how long until the target is well again.
    Recovery,
    /// Approach of the line from above, to detect hysteresis.
    Hysteresis,
    /// A long trial a little below the line.
    Soak,
    /// A trial of the CI gate.
    Gate,
    /// A step of a sweep, in a plain run.
    Step,
    /// At a load that failed, with its limit relaxed.
    #[serde(rename = "relaxed")]
    Mitigated,
    /// The same with the limit put back.
    Restored,
}

impl TrialKind {
    /// Whether the verdict locates the load line.
    pub fn counts_for_line(self) -> bool {
        matches!(
            self,
            Self::Bracket | Self::Refine | Self::Confirm | Self::Hysteresis | Self::Gate
        )
    }

    /// The name in JSON and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SelfTest => "self_test",
            Self::Single => "single",
            Self::Noise => "noise",
            Self::Bracket => "bracket",
            Self::Refine => "refine",
            Self::Confirm => "confirm",
            Self::Anchor => "anchor",
            Self::Recovery => "recovery",
            Self::Hysteresis => "hysteresis",
            Self::Soak => "soak",
            Self::Gate => "gate",
            Self::Step => "step",
            Self::Mitigated => "relaxed",
            Self::Restored => "restored",
        }
    }
}

/// Specification of one trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialSpec {
    /// Its purpose.
    pub kind: TrialKind,
    /// Offered load in `unit`. For [`TrialKind::Single`] the rate is whatever one connection yields, and this is 0.
    pub rate: f64,
    /// Unit of the load. Self-tests are in requests per second, whatever the unit of the search.
    #[serde(default, skip_serializing_if = "LoadUnit::is_requests")]
    pub unit: LoadUnit,
    /// Requests per second that one unit of the load generates at most, as far as known: 1 for requests per second.
    #[serde(
        default = "default_per_unit",
        skip_serializing_if = "is_default_per_unit"
    )]
    pub per_unit: f64,
    /// Seconds from the previous rate to this one.
    pub ramp_s: u32,
    /// Seconds after the ramp that are not judged.
    pub warmup_s: u32,
    /// Seconds that are judged.
    pub measure_s: u32,
    /// A failure that is certain ends the trial immediately.
    pub stop_early: bool,
    /// Requests in flight at which the trial has failed.
    pub in_flight_cap: u64,
}

fn default_per_unit() -> f64 {
    1.0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde asks for"
)]
fn is_zero(value: &f64) -> bool {
    *value <= 0.0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde asks for"
)]
fn is_default_per_unit(value: &f64) -> bool {
    (value - 1.0).abs() < f64::EPSILON
}

impl TrialSpec {
    /// Requests per second that the load generates at most.
    pub fn requests_per_second(&self) -> f64 {
        self.rate * self.per_unit
    }

    /// The users of this trial: all are active from its start to its end. New users arrive during the ramp. `mix`
    /// has the weights of the journeys.
    pub fn user_phase(&self, mix: &[f64]) -> UserPhase {
        UserPhase {
            from: self.rate,
            to: self.rate,
            lasting: Duration::from_secs(u64::from(self.offered_s())),
            mix: mix.to_vec(),
        }
    }

    /// The open load that carries this trial out after a load of `previous_rate`: ramp, then warm-up and judged
    /// seconds at one rate. A ramp never starts above its end, so that the backlog of a higher load is not added to
    /// this one; only an approach from above starts there, on purpose.
    pub fn phases(&self, previous_rate: f64) -> Vec<LoadPhase> {
        let from = match self.kind {
            TrialKind::Hysteresis => previous_rate,
            _ => previous_rate.min(self.rate),
        };
        let seconds = |count: u32| Duration::from_secs(u64::from(count));
        let mut phases = Vec::with_capacity(2);
        if self.ramp_s > 0 {
            phases.push(LoadPhase::ramp(from, self.rate, seconds(self.ramp_s)));
        }
        let level_s = self.warmup_s + self.measure_s;
        phases.push(LoadPhase::constant(self.rate, seconds(level_s)));
        phases
    }

    /// Seconds in which requests become due: ramp, warm-up and judged seconds, without the drain.
    pub const fn offered_s(&self) -> u32 {
        self.ramp_s + self.warmup_s + self.measure_s
    }
}

/// A finished trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Position in the run, from 0.
    pub index: u32,
    /// Its specification.
    pub spec: TrialSpec,
    /// First second of run time that the trial used, ramp included.
    pub start_second: u32,
    /// Seconds of run time that were judged, half-open, after the warm-up cut.
    #[serde(rename = "judged")]
    pub measured: (u32, u32),
    /// The judgement.
    pub verdict: TrialVerdict,
    /// Requests that were due in the judged seconds, whenever they ended.
    pub requests: u64,
    /// Of these, failed or slower than the strictest latency bound.
    pub bad: u64,
    /// Of these, failed.
    pub errors: u64,
    /// Completions per second in the judged seconds.
    pub throughput: f64,
    /// Response times of good answers to requests that were due in the judged seconds, µs.
    pub response_us: Percentiles,
    /// The objective's strictest quantile with failures as infinitely slow, µs; `None` when that is a failure.
    pub objective_us: Option<u64>,
    /// Mean requests in flight in the judged seconds.
    pub in_flight_mean: f64,
    /// 99th percentile of the generator's lag, µs.
    pub lag_us_p99: u64,
    /// Share of its event loops' CPU that the generator used, 0 to 1.
    pub generator_cpu: f64,
    /// Steal time: share of the CPU that the machine demanded and the hypervisor gave to others in the worst judged
    /// second, 0 to 1; 0 while it is negligible.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stolen_share: f64,
}

/// The percentiles every report shows, µs; zeros without observations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// Median.
    pub p50: u64,
    /// 75th percentile.
    #[serde(default)]
    pub p75: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 95th percentile.
    pub p95: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// Highest.
    pub max: u64,
    /// Mean.
    pub mean: f64,
}

impl Percentiles {
    /// Percentiles of a histogram.
    pub fn of(histogram: &crate::histogram::Histogram) -> Self {
        let at = |quantile| histogram.quantile(quantile).unwrap_or(0);
        Self {
            p50: at(0.50),
            p75: at(0.75),
            p90: at(0.90),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            max: histogram.max().unwrap_or(0),
            mean: histogram.mean().unwrap_or(0.0),
        }
    }
}
