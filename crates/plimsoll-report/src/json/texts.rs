//! Builds parts of the objects from the model.

use std::path::Path;

use plimsoll_analysis::summary::{Classes, Summary};
use plimsoll_model::finding::{Certainty, Finding};
use plimsoll_model::load_line::{GateResult, LoadLine};
use plimsoll_model::outcome::{Outcome, OutcomeCounts};
use plimsoll_model::plan::LoadUnit;
use plimsoll_model::trial::{Percentiles, Trial};

use super::judgement::{ConfirmationObject, EvidenceObject, FindingObject};
use super::{
    ClassesObject, GateObject, GeneratorObject, LoadLineObject, OutcomesObject, TimesObject,
    TrialObject,
};
use crate::answer;
use crate::number::millis;

pub(super) fn void_texts(summary: &Summary) -> Option<Vec<String>> {
    let texts: Vec<String> = summary.void.iter().map(ToString::to_string).collect();
    (!texts.is_empty()).then_some(texts)
}

/// The limit after the first.
pub(super) fn next_limit(findings: &[Finding]) -> Option<String> {
    let mut causes = findings
        .iter()
        .filter(|finding| finding.certainty != Certainty::Demoted)
        .filter(|finding| finding.consequence_of.is_none());
    causes.nth(1).map(|finding| finding.limit.clone())
}

pub(super) fn path_text(path: Option<&Path>) -> Option<String> {
    path.map(|path| path.to_string_lossy().into_owned())
}

impl OutcomesObject {
    pub(super) fn of(counts: &OutcomeCounts) -> Self {
        Self {
            ok: counts.get(Outcome::Ok),
            wrong_status: counts.get(Outcome::WrongStatus),
            timeout: counts.get(Outcome::Timeout),
            connect_refused: counts.get(Outcome::ConnectRefused),
            connect_timeout: counts.get(Outcome::ConnectTimeout),
            dns: counts.get(Outcome::Dns),
            reset: counts.get(Outcome::Reset),
            tls: counts.get(Outcome::Tls),
            protocol: counts.get(Outcome::Protocol),
            head_too_long: counts.get(Outcome::HeadTooLong),
            too_many_headers: counts.get(Outcome::TooManyHeaders),
            body_cut: counts.get(Outcome::BodyCut),
            dropped: counts.get(Outcome::Dropped),
            expectation: counts.get(Outcome::Expectation),
        }
    }
}

impl ClassesObject {
    pub(super) fn of(classes: &Classes) -> Self {
        Self {
            bounds_ms: classes.bounds_ms,
            fast: classes.fast,
            middle: classes.middle,
            slow: classes.slow,
            failed: classes.failed,
        }
    }
}

impl TimesObject {
    pub(super) fn of(percentiles: Option<Percentiles>) -> Self {
        percentiles.map_or_else(Self::default, |us| Self {
            p50: Some(millis(us.p50)),
            p90: Some(millis(us.p90)),
            p95: Some(millis(us.p95)),
            p99: Some(millis(us.p99)),
            p999: Some(millis(us.p999)),
            max: Some(millis(us.max)),
            mean: Some(us.mean / 1e3),
        })
    }
}

impl GeneratorObject {
    pub(super) fn of(summary: &Summary) -> Self {
        Self {
            cpu_us_per_request: summary.generator.cpu_us_per_request,
            lag_ms_p99: summary.generator.lag_us_p99.map(millis),
            rss_bytes: summary.generator.rss_bytes,
        }
    }
}

impl LoadLineObject {
    pub(super) fn of(line: &LoadLine) -> Self {
        Self {
            median: line.median,
            low: line.low,
            high: line.high,
            verified: line.verified,
            unit: line.unit.symbol().to_owned(),
            confirmed_trials: line.confirmed_trials,
            confirmed_passes: line.confirmed_passes,
            pass_probability_low: line.pass_probability_low,
        }
    }
}

impl GateObject {
    pub(super) fn of(gate: &GateResult, unit: LoadUnit) -> Self {
        Self {
            rate: gate.rate,
            unit: unit.symbol().to_owned(),
            accepted: gate.accepted,
            trials: gate.trials,
            passes: gate.passes,
            log_likelihood_ratio: gate.log_likelihood_ratio,
        }
    }
}

impl TrialObject {
    pub(super) fn of(trial: &Trial) -> Self {
        let good = trial.requests > trial.errors;
        let time = |us: u64| good.then(|| millis(us));
        Self {
            index: trial.index,
            kind: trial.spec.kind.name().to_owned(),
            rate: trial.spec.rate,
            unit: trial.spec.unit.symbol().to_owned(),
            verdict: trial.verdict.name().to_owned(),
            why: answer::trial_reason(&trial.verdict),
            requests: trial.requests,
            errors: trial.errors,
            completed: trial.throughput,
            p50: time(trial.response_us.p50),
            p95: time(trial.response_us.p95),
            p99: time(trial.response_us.p99),
        }
    }
}

impl FindingObject {
    /// All findings of a run, each with its consequences.
    pub(crate) fn all(findings: &[Finding]) -> Vec<Self> {
        let following = |cause: &Finding| -> Vec<String> {
            let followers = findings
                .iter()
                .filter(|finding| finding.follows_from(cause));
            followers.map(|finding| finding.limit.clone()).collect()
        };
        let of = |finding| Self {
            consequences: following(finding),
            ..Self::of(finding)
        };
        findings.iter().map(of).collect()
    }

    fn of(finding: &Finding) -> Self {
        let evidence = finding.evidence.iter().map(|line| EvidenceObject {
            series: line.series.clone(),
            label: line.label.clone(),
            unit: line.unit.clone(),
            base: line.base,
            passing: line.passing,
            failing: line.failing,
            bound: line.bound,
        });
        Self {
            rule: finding.rule.clone(),
            limit: finding.limit.clone(),
            machine: finding.machine.clone(),
            tier: finding.tier,
            certainty: finding.certainty,
            score: finding.score,
            sentence: finding.sentence.clone(),
            remedy: finding.remedy.clone(),
            evidence: evidence.collect(),
            consequence_of: finding.consequence_of.clone(),
            consequence_of_machine: finding.consequence_of_machine.clone(),
            consequences: Vec::new(),
            confirmation: finding.intervention.as_ref().map(ConfirmationObject::of),
        }
    }
}
