//! Objects of conclusions: limits, interventions, forecasts, common properties of failures.

use plimsoll_analysis::failures::Failures;
use plimsoll_analysis::findings::{Forecast, Scaling};
use plimsoll_analysis::whole_search::Carries;
use plimsoll_model::finding::{Certainty, Intervention, InterventionOutcome, Tier, TrialTally};
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer;
use crate::report::Report;

/// The estimate of a load line that was not confirmed.
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

/// Whether the target carries the demand of `--for`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "For")]
pub struct RequiredObject {
    /// The sentence as it was written.
    pub sentence: String,
    /// What it was read as.
    pub read_as: String,
    /// The demand in `unit`.
    pub load: f64,
    /// Unit of the load: `req/s`, `users` or `sessions/s`.
    pub unit: String,
    /// Whether the target carries it; null when undecided.
    pub carried: Option<bool>,
    /// The load that the target carries, over the demand; null where the line is not known.
    pub margin: Option<MarginObject>,
    /// The answer in a sentence.
    pub answer: String,
}

/// A load over the demand: 2 for twice as much.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Margin")]
pub struct MarginObject {
    /// At the load line; where nothing broke the objective, at the highest load that passed.
    pub median: f64,
    /// At the lower end of the line's 90 % interval.
    pub low: f64,
    /// At its upper end; null where nothing broke the objective.
    pub high: Option<f64>,
}

impl RequiredObject {
    pub(super) fn of(report: &Report<'_>) -> Option<Self> {
        let found = answer::required_answer(report)?;
        Some(Self {
            sentence: found.required.sentence.clone(),
            read_as: found.required.read_as.clone(),
            load: found.required.load,
            unit: found.required.unit.symbol().to_owned(),
            carried: match found.carries {
                Carries::Yes => Some(true),
                Carries::No => Some(false),
                Carries::WithinInterval => None,
            },
            margin: found.margin.as_ref().map(|margin| MarginObject {
                median: margin.median,
                low: margin.low,
                high: margin.high,
            }),
            answer: answer::required_sentence(&found),
        })
    }
}

/// A named limit.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Finding")]
pub struct FindingObject {
    /// Id of the rule, such as `N1`.
    pub rule: String,
    /// The limiting resource.
    pub limit: String,
    /// The machine that it is of, as its agent is called; null for the generator's own.
    pub machine: Option<String>,
    /// Its layer: `generator`, `network`, `proxy`, `machine` or `store`; null in logs without it.
    #[schemars(with = "Option<String>")]
    pub tier: Option<Tier>,
    /// `demoted`, `possible`, `suspected`, `explicit` or `confirmed`.
    #[schemars(with = "String")]
    pub certainty: Certainty,
    /// Strength of the symptom × its onset at the line, 0 to 1.
    pub score: f64,
    /// One sentence with the numbers.
    pub sentence: String,
    /// The remedy.
    pub remedy: String,
    /// Series and numbers.
    pub evidence: Vec<EvidenceObject>,
    /// Rule of the finding that causes this one, or null.
    pub consequence_of: Option<String>,
    /// Machine of that finding, as in `machine`; null for the generator's own.
    pub consequence_of_machine: Option<String>,
    /// Consequences of this one: the limits of those findings.
    pub consequences: Vec<String>,
    /// Result of mitigating it; null unless requested (`--confirm`).
    pub confirmation: Option<ConfirmationObject>,
}

/// A series at low load, at the highest passing load and at the lowest failing load.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Evidence")]
pub struct EvidenceObject {
    /// Name of the series.
    pub series: String,
    /// Its description.
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

/// Result of mitigating a limit, and reverting the change.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Confirmation")]
pub struct ConfirmationObject {
    /// The change; empty without one.
    pub change: String,
    /// `confirmed`, `demoted`, `undecided` or `not_tried`.
    #[schemars(with = "String")]
    pub outcome: InterventionOutcome,
    /// The load that had failed, in `unit`.
    pub load: f64,
    /// `req/s`, `users` or `sessions/s`.
    pub unit: String,
    /// Trials with the mitigation.
    pub relaxed: TallyObject,
    /// Trials after the revert.
    pub restored: TallyObject,
    /// Summary in a sentence.
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

impl ConfirmationObject {
    pub(super) fn of(intervention: &Intervention) -> Self {
        Self {
            change: intervention.change.clone(),
            outcome: intervention.outcome,
            load: intervention.load,
            unit: intervention.unit.symbol().to_owned(),
            relaxed: intervention.mitigated.into(),
            restored: intervention.restored.into(),
            sentence: intervention.sentence.clone(),
        }
    }
}

/// The resource that saturates next.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Forecast")]
pub struct ForecastObject {
    /// The resource.
    pub limit: String,
    /// The load at which it saturates, in `unit`.
    pub load: f64,
    /// Lower end of the 90 % interval of the fit, in `unit`.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// `req/s`, `users` or `sessions/s`.
    pub unit: String,
    /// Its utilisation at `seen_at`, 0 to 1.
    pub used: f64,
    /// The highest load that passed, in `unit`.
    #[serde(rename = "seen_at")]
    pub measured_at: f64,
    /// `suspected` or `possible`.
    #[schemars(with = "String")]
    pub certainty: Certainty,
    /// Summary in a sentence.
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
            certainty: forecast.certainty,
            sentence: forecast.sentence.clone(),
        }
    }
}

/// Scaling of throughput X with requests in flight N: X = γN / (1 + σ(N−1) + κN(N−1)).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Scaling")]
pub struct ScalingObject {
    /// γ: requests per second of a single one.
    pub gamma: f64,
    /// σ, contention: the serial share.
    pub sigma: f64,
    /// Ends of its 90 % interval.
    pub sigma_interval: [f64; 2],
    /// κ, coherency: cost of coordination; null where it cannot be distinguished from 0.
    pub kappa: Option<f64>,
    /// Ends of its 90 % interval.
    pub kappa_interval: [f64; 2],
    /// Trials used for the fit.
    pub trials: usize,
    /// Requests in flight at the highest load that passed.
    pub in_flight: f64,
    /// Shares of each request's time at that load.
    pub shares: SharesObject,
    /// Summary in a sentence.
    pub sentence: String,
}

/// Shares of a request's time; they sum to 1.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Shares")]
pub struct SharesObject {
    /// Work.
    pub work: f64,
    /// Waiting for serialised resources.
    pub contention: f64,
    /// Coordination.
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

/// Common properties of failed requests: of the load that failed, or of the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Failures")]
pub struct FailuresObject {
    /// Requests that failed in the examined seconds.
    pub failed: u64,
    /// All requests in these seconds.
    pub requests: u64,
    /// Number of properties tested, by which every `p` is corrected.
    pub looks: u64,
    /// Common properties, the clearest first; empty when none distinguishes the failures.
    pub common: Vec<CommonObject>,
    /// Progress of the failed requests, the most first.
    pub phases: Vec<PhaseObject>,
    /// Servers named in failure lines of proxy logs, the most first; empty without a watched log.
    pub upstreams: Vec<UpstreamObject>,
    /// Summary in a sentence.
    pub sentence: String,
}

/// Failed requests that reached this stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "FailedPhase")]
pub struct PhaseObject {
    /// The stage, such as `while connecting`.
    pub phase: String,
    /// Their number.
    pub requests: u64,
}

/// A server named in proxy logs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "FailedUpstream")]
pub struct UpstreamObject {
    /// Its name or address, as in the log.
    pub name: String,
    /// Its share of the lines that name a server, 0 to 1.
    pub share: f64,
}

/// A property that failures share and good requests lack.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Common")]
pub struct CommonObject {
    /// The property, such as `step POST /login`.
    pub thing: String,
    /// Share of the failures that have it, 0 to 1.
    pub of_failures: f64,
    /// Share of the good ones that have it, 0 to 1.
    pub of_good: f64,
    /// The probability of chance, corrected for all tests.
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
