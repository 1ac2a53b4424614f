//! The metrics of a run: what an experiment compares of its trials, and a comparison of its runs.
//!
//! They are taken over the judged seconds of a plain run; of a search, over the trials at the load that was verified, so
//! that they describe one load. No percentile is averaged: histograms of the seconds are merged. A metric that was not
//! measured is missing, never zero. A plain run whose load rises through the line has a load line as well.

mod batches;
mod definition;
pub mod ramp;
mod totals;

#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;

use plimsoll_model::labels;
use plimsoll_model::load_line::SearchResult;
use plimsoll_model::run::Run;
use plimsoll_model::trial::{Trial, TrialKind};
use plimsoll_model::verdict::Verdict;

use self::ramp::Crossing;
use self::totals::{SpanTotals, resources};
use super::trial::TrialOutcome;
use crate::summary::{self, MeasuredSpan};

pub use batches::{BATCHES_MIN, RunBatches};
pub use definition::*;

/// Values by name of the metric.
pub type MetricValues = BTreeMap<String, f64>;

/// Journey and label of a step.
pub type StepKey = (String, String);

/// Whether a run measured the service.
#[derive(Clone, Debug, PartialEq)]
pub enum Validity {
    /// It did.
    Valid,
    /// The service failed: not one answer was good. Why.
    Failed(String),
    /// Nothing ever connected.
    Unreachable,
    /// The measurement is void, or incomplete. Why.
    Void(Vec<String>),
}

/// The metrics of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunMetrics {
    values: MetricValues,
    steps: BTreeMap<StepKey, MetricValues>,
    validity: Validity,
}

impl RunMetrics {
    /// The metrics of `run`.
    pub fn of(run: &Run) -> Self {
        let spans = spans(run);
        let totals = SpanTotals::of(run, &spans);
        let mut values = MetricValues::new();
        if totals.requests() > 0 {
            values = totals.values(run.header.plan.classes_ms);
            values.extend(resources(run, &spans, totals.requests()));
        }
        let line = match &run.search {
            Some(search) => line_median(search),
            None => ramp_line(run),
        };
        if let Some(line) = line {
            values.insert(LOAD_LINE.to_owned(), line);
        }
        Self {
            validity: validity(run, &totals),
            values,
            steps: totals.steps(),
        }
    }

    /// Values by name.
    pub fn values(&self) -> &MetricValues {
        &self.values
    }

    /// The value of a metric.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.values.get(name).copied()
    }

    /// Values by name of each step. Empty without journeys.
    pub fn steps(&self) -> &BTreeMap<StepKey, MetricValues> {
        &self.steps
    }

    /// Whether the run measured the service.
    pub fn validity(&self) -> &Validity {
        &self.validity
    }

    /// The run as the outcome of a trial. Metrics of steps have the labels `journey` and `step`:
    /// `p95{journey=shop,step=cart}`.
    pub fn outcome(&self) -> TrialOutcome {
        match &self.validity {
            Validity::Failed(_) | Validity::Unreachable => TrialOutcome::Failed,
            Validity::Void(_) => TrialOutcome::Void,
            Validity::Valid => TrialOutcome::Measured(self.values_with_steps()),
        }
    }

    /// All values, those of steps under names with labels.
    pub fn values_with_steps(&self) -> MetricValues {
        let mut values = self.values.clone();
        for (key, step) in &self.steps {
            values.extend(
                step.iter()
                    .map(|(name, &value)| (step_metric(name, key), value)),
            );
        }
        values
    }
}

/// The name of a metric of a step.
pub fn step_metric(name: &str, (journey, step): &StepKey) -> String {
    labels::series(name, &[("journey", journey), ("step", step)])
}

/// The line that a rising load crossed.
fn ramp_line(run: &Run) -> Option<f64> {
    match ramp::risen(run)?.crossing {
        Crossing::At(line) => Some(line),
        Crossing::Above(_) | Crossing::Below(_) => None,
    }
}

/// The line of a search, or the estimate of one that could not confirm it.
fn line_median(search: &SearchResult) -> Option<f64> {
    match &search.line {
        Ok(line) => Some(line.median),
        Err(none) => none.estimate().map(|estimate| estimate.median),
    }
}

fn validity(run: &Run, totals: &SpanTotals) -> Validity {
    let void = |reason: &str| Validity::Void(vec![reason.to_owned()]);
    let Some(ending) = &run.ending else {
        return void("the run log is cut off before its end");
    };
    match ending.verdict {
        Verdict::Void => Validity::Void(ending.void.iter().map(ToString::to_string).collect()),
        Verdict::Interrupted => void("the run was interrupted"),
        Verdict::Unreachable => Validity::Unreachable,
        _ if summary::is_search(run) => Validity::Valid,
        _ if totals.requests() == 0 => void("no request ended in the judged seconds"),
        _ if totals.good() == 0 => Validity::Failed("not one answer was good".to_owned()),
        _ => Validity::Valid,
    }
}

/// The seconds that the metrics describe.
fn spans(run: &Run) -> Vec<MeasuredSpan> {
    if !summary::is_search(run) {
        let span = summary::plain_span(&run.header.plan, &run.windows);
        return span
            .filter(|span| span.from < span.due_until)
            .into_iter()
            .collect();
    }
    let valid = |trial: &&Trial| {
        let is_apart = matches!(
            trial.spec.kind,
            TrialKind::SelfTest | TrialKind::Single | TrialKind::Mitigated | TrialKind::Restored
        );
        !trial.verdict.is_void() && !is_apart
    };
    let trials = || run.trials.iter().filter(valid);
    let verified = run
        .search
        .as_ref()
        .and_then(|search| search.line.as_ref().ok())
        .map(|line| line.verified);
    let highest_passed = || {
        let passed = trials().filter(|trial| trial.verdict.is_pass());
        passed.map(|trial| trial.spec.rate).max_by(f64::total_cmp)
    };
    let Some(load) = verified.or_else(highest_passed) else {
        return Vec::new();
    };
    trials()
        .filter(|trial| (trial.spec.rate - load).abs() <= 1e-9 * load)
        .map(|trial| MeasuredSpan::of_seconds(trial.measured.0, trial.measured.1))
        .collect()
}
