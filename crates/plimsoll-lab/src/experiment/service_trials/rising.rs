//! Loads that rise through the load line: each ends as soon as it is clearly beyond it, and is followed by a further one
//! where it missed the line.

use plimsoll_analysis::experiment::metrics::MetricValues;
use plimsoll_analysis::experiment::metrics::ramp::{BeyondLine, Crossing, lead_s, risen};
use plimsoll_model::objective::Objective;
use plimsoll_model::plan::Load;
use plimsoll_model::window::Window;
use plimsoll_probe::rest;

use super::{Measurement, TrialLoad, failed_by, values_of};
use crate::active_run::Finished;
use crate::experiment::trial::{RecordedOutcome, TrialError};
use crate::experiment::tuning::lines::{self, LOAD_LINE_MIN, MEMORY_AVAILABLE};
use crate::service::Service;

/// Least share of the machine's memory that must be available.
const MEMORY_MIN: f64 = 0.05;
/// Share of failed requests from the begin of a load on with which a service does not serve.
const FAILED_MAX: f64 = 0.5;

/// Watches a rising load, and knows why it ended early.
#[derive(Debug)]
struct RisingWatch {
    beyond: BeyondLine,
    /// Least share of the machine's memory that was available.
    memory: f64,
    is_short_of_memory: bool,
}

impl RisingWatch {
    fn new(load: &Load, objective: Option<&Objective>) -> Self {
        let objective = objective.cloned().unwrap_or_default();
        Self {
            beyond: BeyondLine::new(&objective, lead_s(load)),
            memory: 1.0,
            is_short_of_memory: false,
        }
    }

    fn early_end(&mut self, window: &Window) -> Option<String> {
        if let Ok(available) = rest::memory_available() {
            self.memory = self.memory.min(available);
        }
        if self.memory < MEMORY_MIN {
            self.is_short_of_memory = true;
            return Some(short_of_memory());
        }
        self.beyond.closes(window).map(|beyond| beyond.to_string())
    }
}

fn short_of_memory() -> String {
    let percent = MEMORY_MIN * 100.0;
    format!("less than {percent:.0} % of the machine's memory was available")
}

/// What the loads of a trial have shown so far.
#[derive(Debug, Default)]
struct RisenLoads {
    metrics: MetricValues,
    /// Why the last load has no metrics.
    failure: Option<RecordedOutcome>,
    /// Whether the last load began beyond the line, and the share of its requests that failed.
    failed_from_begin: Option<f64>,
}

impl RisenLoads {
    /// Adds the next load.
    fn add(&mut self, finished: &Finished, memory: f64) -> Result<(), RecordedOutcome> {
        let risen = risen(&finished.run);
        let is_beyond = risen.is_some_and(|it| matches!(it.crossing, Crossing::Below(_)));
        self.failure = None;
        match values_of(finished) {
            Ok(values) => self.metrics.extend(values),
            // Beyond the line no answer may be good; the loads before it have the line.
            Err(outcome @ RecordedOutcome::Failed(_)) if is_beyond => self.failure = Some(outcome),
            Err(outcome) => return Err(outcome),
        }
        let Some(risen) = risen else {
            let reason = "the load has no line: no request ended, or it is not a load that rises";
            return Err(RecordedOutcome::Void(reason.to_owned()));
        };
        self.failed_from_begin = is_beyond.then_some(risen.errors);
        lines::add(&mut self.metrics, risen);
        let known = self.metrics.get(MEMORY_AVAILABLE).copied().unwrap_or(1.0);
        self.metrics
            .insert(MEMORY_AVAILABLE.to_owned(), known.min(memory));
        Ok(())
    }

    /// The metrics of all loads; the outcome without them where the service did not serve even the lowest.
    fn outcome(self) -> Result<MetricValues, RecordedOutcome> {
        let is_known =
            lines::line(&self.metrics).is_some() || self.metrics.contains_key(LOAD_LINE_MIN);
        if is_known {
            return Ok(self.metrics);
        }
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        match self.failed_from_begin.filter(|errors| *errors > FAILED_MAX) {
            None => Ok(self.metrics),
            Some(errors) => {
                let percent = errors * 100.0;
                let reason =
                    format!("{percent:.0} % of the requests failed from the begin of the load on");
                Err(RecordedOutcome::Failed(reason))
            }
        }
    }
}

impl Measurement<'_> {
    /// The metrics of a load that rises and of those that follow it, or the outcome of the trial without them.
    pub(super) fn rise(
        &mut self,
        service: &mut Service<'_>,
        first: TrialLoad,
    ) -> Result<Result<MetricValues, RecordedOutcome>, TrialError> {
        let mut loads = RisenLoads::default();
        let mut next = Some(first);
        let mut number = 0;
        while let Some(load) = next.take() {
            if number > 0
                && let Err(fault) = self.settle(service)
            {
                return failed_by(fault).map(Err);
            }
            let plan = &load.assignment.plan;
            let mut watch = RisingWatch::new(&plan.load, plan.objective.as_ref());
            let mut early_end = |window: &Window| watch.early_end(window);
            let finished = match self.send(service, load, Some(&mut early_end))? {
                Ok(finished) => finished,
                Err(outcome) => return Ok(Err(outcome)),
            };
            if watch.is_short_of_memory {
                return Ok(Err(RecordedOutcome::Failed(short_of_memory())));
            }
            if let Err(outcome) = loads.add(&finished, watch.memory) {
                return Ok(Err(outcome));
            }
            next = self.loads.further(self.trial, &finished, number);
            number += 1;
        }
        Ok(loads.outcome())
    }
}
