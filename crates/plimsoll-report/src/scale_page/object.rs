//! The object of `plimsoll scale --replay --json`.

use plimsoll_scale::Decision;
use plimsoll_scale::judgement::{Elasticity, elastic_speedup};
use schemars::JsonSchema;
use serde::Serialize;

use super::ScalerRun;
use crate::pretty;

/// The output of `plimsoll scale --replay --json`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "plimsoll scale --replay --json")]
pub struct ScaleObject {
    /// Version of this object, `major.minor`.
    pub format_version: String,
    /// Name of the policy.
    pub policy: String,
    /// The trace.
    pub trace: String,
    /// Its length, s.
    pub duration_s: u32,
    /// What one replica carries, 1/s.
    pub line: f64,
    /// Currency of prices; null without prices.
    pub currency: Option<String>,
    /// What is wrong with a policy.
    pub warnings: Vec<String>,
    /// The policy with which elastic speedups compare; null where there is no other.
    pub baseline: Option<String>,
    /// Decisions of the policy that changed something or were refused, in the order of time.
    pub decisions: Vec<DecisionObject>,
    /// Later ones that are left out.
    pub decisions_left_out: u64,
    /// The policy, those it is compared with, and the recorded supply, each judged alike.
    pub scalers: Vec<ScalerObject>,
}

/// A decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DecisionObject {
    /// Seconds since the beginning of the trace.
    pub at: u32,
    /// The signal and the policy that decided.
    pub signal: String,
    /// The number of replicas that is wanted.
    pub wanted: u32,
    /// The number of replicas that stands.
    pub now: u32,
    /// Why.
    pub reason: String,
    /// What forbids it; null where it is carried out.
    pub refused_by: Option<String>,
}

/// A scaler and its judgement.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ScalerObject {
    /// Its name.
    pub name: String,
    /// Bad answers: requests that waited longer than the deadline; null of a recorded scaler.
    pub bad: Option<f64>,
    /// The same as a share of all requests, 0 to 1.
    pub bad_share: Option<f64>,
    /// Hours that replicas were held.
    pub replica_hours: f64,
    /// Hours that they are paid for; null of a recorded scaler.
    pub paid_hours: Option<f64>,
    /// The price; null without prices.
    pub price: Option<f64>,
    /// Changes of the number of replicas.
    pub changes: u32,
    /// The most replicas that were needed.
    pub demand_max: u32,
    /// The most replicas that were held.
    pub replicas_max: u32,
    /// Elasticity.
    pub elasticity: ElasticityObject,
    /// How many times as elastic it is as the baseline; null without one.
    pub elastic_speedup: Option<f64>,
    /// The longest time in which too few replicas answered, s; null where there were always enough.
    pub time_to_capacity_s: Option<u32>,
    /// The same in words.
    pub capacity: String,
    /// Times in which too few replicas answered, in the order of time; the longest hundred.
    pub shortages: Vec<ShortageObject>,
    /// Whether it oscillated.
    pub oscillates: bool,
    /// The same in words, with how far it went beyond the demand.
    pub oscillation: String,
}

/// Figures of elasticity (SPEC Research Group), per cent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ElasticityObject {
    /// `θ_U`: missing replicas as a share of the demand, over the time.
    pub theta_u: f64,
    /// `θ_O`: replicas too many as a share of the demand, over the time.
    pub theta_o: f64,
    /// `τ_U`: share of the time with too few.
    pub tau_u: f64,
    /// `τ_O`: share of the time with too many.
    pub tau_o: f64,
    /// υ: share of the time in which supply did not move as demand did.
    pub instability: f64,
}

/// A time in which too few replicas answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ShortageObject {
    /// Its beginning, seconds since that of the trace.
    pub from_s: u32,
    /// Time to capacity, s.
    pub time_to_capacity_s: u32,
    /// The most replicas that were missing.
    pub missing: u32,
    /// Whether the trace ends before it does.
    pub open: bool,
}

/// What a replay is about, beside its scalers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScaleSubject {
    /// Name of the policy.
    pub policy: String,
    /// The trace.
    pub trace: String,
    /// What one replica carries, 1/s.
    pub line: f64,
    /// Currency of prices.
    pub currency: Option<String>,
    /// What is wrong with a policy.
    pub warnings: Vec<String>,
}

impl ScaleObject {
    /// Version of this object.
    pub const FORMAT_VERSION: &'static str = "1.0";

    /// The object of scalers over one trace; the first is the policy itself.
    pub fn of(subject: ScaleSubject, scalers: &[ScalerRun]) -> Self {
        let first = scalers.first();
        let len = first.map_or(0, |first| first.seconds.len());
        let baseline = scalers.get(1);
        let of_base = baseline.map(|base| base.judgement.elasticity);
        Self {
            format_version: Self::FORMAT_VERSION.to_owned(),
            policy: subject.policy,
            trace: subject.trace,
            duration_s: u32::try_from(len).unwrap_or(u32::MAX),
            line: subject.line,
            currency: subject.currency,
            warnings: subject.warnings,
            baseline: baseline.map(|base| base.name.clone()),
            decisions: first.map_or_else(Vec::new, |first| {
                first.decisions.iter().map(DecisionObject::of).collect()
            }),
            decisions_left_out: first.map_or(0, |first| first.decisions_left_out),
            scalers: scalers
                .iter()
                .map(|scaler| ScalerObject::of(scaler, of_base.as_ref()))
                .collect(),
        }
    }

    /// As pretty JSON with a newline at the end.
    pub fn json(&self) -> String {
        pretty::object(self)
    }
}

impl DecisionObject {
    fn of(decision: &Decision) -> Self {
        Self {
            at: decision.at_s,
            signal: decision.signal.clone(),
            wanted: decision.wanted,
            now: decision.now,
            reason: decision.reason.clone(),
            refused_by: decision.refused_by.clone(),
        }
    }
}

impl ScalerObject {
    fn of(scaler: &ScalerRun, base: Option<&Elasticity>) -> Self {
        let judged = &scaler.judgement;
        Self {
            name: scaler.name.clone(),
            bad: judged.bad,
            bad_share: judged.bad_share,
            replica_hours: judged.replica_hours,
            paid_hours: scaler.paid_hours,
            price: scaler.price,
            changes: judged.changes,
            demand_max: judged.demand_max,
            replicas_max: judged.held_max,
            elasticity: ElasticityObject::of(&judged.elasticity),
            elastic_speedup: base.map(|base| elastic_speedup(base, &judged.elasticity)),
            time_to_capacity_s: judged.time_to_capacity_s(),
            capacity: judged.shortage_sentence(),
            shortages: judged
                .shortages
                .iter()
                .map(|shortage| ShortageObject {
                    from_s: shortage.from_s,
                    time_to_capacity_s: shortage.lasting_s,
                    missing: shortage.missing_max,
                    open: shortage.is_open,
                })
                .collect(),
            oscillates: judged.turns.oscillates(),
            oscillation: judged.oscillation_sentence(),
        }
    }
}

impl ElasticityObject {
    fn of(figures: &Elasticity) -> Self {
        Self {
            theta_u: figures.under_accuracy,
            theta_o: figures.over_accuracy,
            tau_u: figures.under_time,
            tau_o: figures.over_time,
            instability: figures.instability,
        }
    }
}

/// The JSON schema of [`ScaleObject`].
pub fn schema() -> String {
    pretty::schema::<ScaleObject>()
}
