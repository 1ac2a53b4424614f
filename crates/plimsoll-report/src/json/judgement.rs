//! Objects of what was concluded: limits, what came of relaxing them, what comes next, what failures have in common.

use plimsoll_analysis::failures::Failures;
use plimsoll_analysis::findings::{Forecast, Scaling};
use plimsoll_model::finding::{Intervention, InterventionOutcome, TrialTally};
use schemars::JsonSchema;
use serde::Serialize;

use super::certainty_name;
use crate::report::Report;

/// What is known of a load line that was not confirmed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Estimate")]
pub struct EstimateObject {
    /// Half of the trials at this load would break the objective.
    pub median: f64,
    /// Lower end of the 90 % credible interval.
    pub low: f64,
    /// Upper end of the 90 % credible interval.
    pub high: f64,
    /// Unit of the three loads: `req/s`, `users` or `sessions/s`.
    pub unit: String,
}

impl EstimateObject {
    pub(super) fn of(report: &Report<'_>) -> Option<Self> {
        report.estimate().map(|known| Self {
            median: known.median,
            low: known.low,
            high: known.high,
            unit: report.unit().symbol().to_owned(),
        })
    }
}

/// A named limit.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Finding")]
pub struct FindingObject {
    /// Id of the rule, such as `N1`.
    pub rule: String,
    /// What sets the limit.
    pub limit: String,
    /// Where it lies: `generator`, `network`, `proxy`, `machine` or `store`; null in logs that do not say.
    pub tier: Option<String>,
    /// `demoted`, `possible`, `suspected`, `explicit` or `confirmed`.
    pub certainty: String,
    /// Strength of the symptom × its onset at the line, 0 to 1.
    pub score: f64,
    /// One sentence with the numbers.
    pub sentence: String,
    /// What to do.
    pub remedy: String,
    /// Series and numbers.
    pub evidence: Vec<EvidenceObject>,
    /// Rule of the finding that this one follows from, or null.
    pub consequence_of: Option<String>,
    /// What follows from this one: the limits of those findings.
    pub consequences: Vec<String>,
    /// What came of relaxing it; null unless that was asked for (`--confirm`).
    pub confirmation: Option<ConfirmationObject>,
}

/// A series at low load, at the highest passing load and at the lowest failing load.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Evidence")]
pub struct EvidenceObject {
    /// Name of the series.
    pub series: String,
    /// What it says.
    pub label: String,
    /// Unit as in OpenTelemetry: `1` is a share, `By` bytes.
    pub unit: String,
    /// Mean at low load, or null.
    pub base: Option<f64>,
    /// Mean at the highest passing load, or null.
    pub passing: Option<f64>,
    /// Mean at the lowest failing load, or null.
    pub failing: Option<f64>,
    /// The bound that was crossed, or null.
    pub bound: Option<f64>,
}

/// What came of relaxing a limit, and putting it back.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Confirmation")]
pub struct ConfirmationObject {
    /// What was changed; empty when nothing was.
    pub change: String,
    /// `confirmed`, `demoted`, `undecided` or `not_tried`.
    pub outcome: String,
    /// The load that had failed, in `unit`.
    pub load: f64,
    /// `req/s`, `users` or `sessions/s`.
    pub unit: String,
    /// Trials with the limit relaxed.
    pub relaxed: TallyObject,
    /// Trials with the limit put back.
    pub restored: TallyObject,
    /// All that in a sentence.
    pub sentence: String,
}

/// Trials that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Tally")]
pub struct TallyObject {
    /// Trials that passed.
    pub passed: u32,
    /// Trials that failed.
    pub failed: u32,
}

impl From<TrialTally> for TallyObject {
    fn from(tally: TrialTally) -> Self {
        Self {
            passed: tally.passed,
            failed: tally.failed,
        }
    }
}

/// The name of an outcome in JSON.
pub fn outcome_name(outcome: InterventionOutcome) -> &'static str {
    match outcome {
        InterventionOutcome::Confirmed => "confirmed",
        InterventionOutcome::Demoted => "demoted",
        InterventionOutcome::Undecided => "undecided",
        InterventionOutcome::NotTried => "not_tried",
    }
}

impl ConfirmationObject {
    pub(super) fn of(intervention: &Intervention) -> Self {
        Self {
            change: intervention.change.clone(),
            outcome: outcome_name(intervention.outcome).to_owned(),
            load: intervention.load,
            unit: intervention.unit.symbol().to_owned(),
            relaxed: intervention.mitigated.into(),
            restored: intervention.restored.into(),
            sentence: intervention.sentence.clone(),
        }
    }
}

/// The resource that is full next.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Forecast")]
pub struct ForecastObject {
    /// The resource.
    pub limit: String,
    /// The load at which it is full, in `unit`.
    pub load: f64,
    /// Lower end of the 90 % interval of the fit, in `unit`.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// `req/s`, `users` or `sessions/s`.
    pub unit: String,
    /// How full it was at `seen_at`, 0 to 1.
    pub used: f64,
    /// The highest load that passed, in `unit`.
    #[serde(rename = "seen_at")]
    pub measured_at: f64,
    /// `suspected` or `possible`.
    pub certainty: String,
    /// All that in a sentence.
    pub sentence: String,
}

impl ForecastObject {
    pub(super) fn of(forecast: &Forecast) -> Self {
        Self {
            limit: forecast.limit.clone(),
            load: forecast.load,
            low: forecast.low,
            high: forecast.high,
            unit: forecast.unit.symbol().to_owned(),
            used: forecast.used,
            measured_at: forecast.measured_at,
            certainty: certainty_name(forecast.certainty).to_owned(),
            sentence: forecast.sentence.clone(),
        }
    }
}

/// How throughput X grows with what is in flight, N: X = γN / (1 + σ(N−1) + κN(N−1)).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Scaling")]
pub struct ScalingObject {
    /// γ: requests per second that one alone would have.
    pub gamma: f64,
    /// σ, contention: the share that only one at a time can do.
    pub sigma: f64,
    /// Ends of its 90 % interval.
    pub sigma_interval: [f64; 2],
    /// κ, coherency: what agreement with each other costs; null where it cannot be told from none.
    pub kappa: Option<f64>,
    /// Ends of its 90 % interval.
    pub kappa_interval: [f64; 2],
    /// Trials that tell.
    pub trials: usize,
    /// Requests in flight at the highest load that passed.
    pub in_flight: f64,
    /// Shares of each request's time there.
    pub shares: SharesObject,
    /// All that in a sentence.
    pub sentence: String,
}

/// Shares of a request's time; they sum to 1.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Shares")]
pub struct SharesObject {
    /// Work.
    pub work: f64,
    /// Waiting for what only one at a time can have.
    pub contention: f64,
    /// Agreement with others.
    pub coherency: f64,
}

impl ScalingObject {
    pub(super) fn of(scaling: &Scaling) -> Self {
        let [work, contention, coherency] = scaling.shares;
        let is_significant = scaling.coherency.0 > 0.0;
        Self {
            gamma: scaling.law.alone,
            sigma: scaling.law.contention,
            sigma_interval: scaling.contention.into(),
            kappa: is_significant.then_some(scaling.law.coherency),
            kappa_interval: scaling.coherency.into(),
            trials: scaling.trials,
            in_flight: scaling.in_flight,
            shares: SharesObject {
                work,
                contention,
                coherency,
            },
            sentence: scaling.sentence.clone(),
        }
    }
}

/// What failed requests have in common: of the load that failed, or of the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Failures")]
pub struct FailuresObject {
    /// Requests that failed in the seconds that were looked at.
    pub failed: u64,
    /// All requests of these.
    pub requests: u64,
    /// Things that were looked at, by which every `p` is corrected.
    pub looks: u64,
    /// What they have in common, the clearest first; empty when nothing sets them apart.
    pub common: Vec<CommonObject>,
    /// How far the failed requests came, the most first.
    pub phases: Vec<PhaseObject>,
    /// Servers that logs of proxies name in lines of failures, the most first; empty where no log is watched.
    pub upstreams: Vec<UpstreamObject>,
    /// All that in a sentence.
    pub sentence: String,
}

/// Failed requests that came so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "FailedPhase")]
pub struct PhaseObject {
    /// Where they were, such as `while connecting`.
    pub phase: String,
    /// Their number.
    pub requests: u64,
}

/// A server that logs of proxies name.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "FailedUpstream")]
pub struct UpstreamObject {
    /// Its name or address, as the log has it.
    pub name: String,
    /// Share of the lines that name a server, 0 to 1.
    pub share: f64,
}

/// A thing that failures have in common and good requests lack.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Common")]
pub struct CommonObject {
    /// The thing, such as `step POST /login`.
    pub thing: String,
    /// Share of the failures that have it, 0 to 1.
    pub of_failures: f64,
    /// Share of the good ones that have it, 0 to 1.
    pub of_good: f64,
    /// The chance that this is an accident, corrected for all looks.
    pub p: f64,
}

impl FailuresObject {
    pub(super) fn of(failures: &Failures) -> Self {
        let common = failures.common.iter().map(|factor| CommonObject {
            thing: factor.thing.clone(),
            of_failures: factor.of_failures,
            of_good: factor.of_good,
            p: factor.p,
        });
        Self {
            failed: failures.failed,
            requests: failures.requests,
            looks: failures.candidates as u64,
            common: common.collect(),
            phases: failures
                .phases
                .iter()
                .map(|&(phase, requests)| PhaseObject {
                    phase: phase.to_owned(),
                    requests,
                })
                .collect(),
            upstreams: failures
                .upstreams
                .iter()
                .map(|(name, share)| UpstreamObject {
                    name: name.clone(),
                    share: *share,
                })
                .collect(),
            sentence: failures.sentence.clone(),
        }
    }
}
