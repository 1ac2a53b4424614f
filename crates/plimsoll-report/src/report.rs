//! The common input of all report formats.

use std::borrow::Cow;

use plimsoll_analysis::aborts;
use plimsoll_analysis::failures::{self, Failures};
use plimsoll_analysis::findings::{self, Forecast, Scaling};
use plimsoll_analysis::machines::usage::MachinesSummary;
use plimsoll_analysis::summary::users::UsersSummary;
use plimsoll_analysis::summary::{self, Summary};
use plimsoll_analysis::whole_run;
use plimsoll_model::finding::{Certainty, Finding};
use plimsoll_model::load_line::{Estimate, LoadLine};
use plimsoll_model::objective::LatencyBound;
use plimsoll_model::plan::LoadUnit;
use plimsoll_model::run::Run;
use plimsoll_model::trial::Trial;

/// A run with the numbers derived from it.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its numbers.
    pub summary: Summary,
    /// Trials of a search, or the steps of a sweep that had an objective, each judged.
    pub trials: Cow<'a, [Trial]>,
    /// Common properties of failed requests; `None` without failures.
    pub failures: Option<Failures>,
    /// The resource that saturates next; `None` without a forecast.
    pub forecast: Option<Forecast>,
    /// Scaling of throughput with requests in flight; `None` with too few loads.
    pub scaling: Option<Scaling>,
    /// The machines; nothing without agents.
    pub machines: MachinesSummary,
    /// What ended the run early.
    early: Option<String>,
}

/// The machines at the highest load that passed, or else at the one that failed; without either, over the whole run.
fn machines(run: &Run) -> MachinesSummary {
    if run.readings.machines().is_empty() {
        return MachinesSummary::default();
    }
    let stretches = findings::stretches(run);
    let span = stretches.passing.or(stretches.failing);
    MachinesSummary::of(run, span.unwrap_or((0, u32::MAX)))
}

impl<'a> Report<'a> {
    /// Makes the numbers of `run`.
    pub fn of(run: &'a Run) -> Self {
        let has_verdicts = summary::is_search(run) || run.header.plan.objective.is_some();
        let trials = match run.trials.as_slice() {
            // Without an objective nothing is judged, so a step has no verdict.
            _ if !has_verdicts => Cow::Borrowed(&[][..]),
            [] => Cow::Owned(whole_run::steps(run)),
            trials => Cow::Borrowed(trials),
        };
        Self {
            run,
            summary: Summary::of(run),
            trials,
            failures: failures::failures(run),
            forecast: findings::forecast(run),
            scaling: findings::scaling(run),
            machines: machines(run),
            early: aborts::first_hit(run).map(|hit| hit.to_string()),
        }
    }

    /// Whether the run is a search for the load line.
    pub fn is_search(&self) -> bool {
        summary::is_search(self.run)
    }

    /// The limit that sets the line, as far as it is known.
    pub fn set_by(&self) -> Option<&'a Finding> {
        let mut findings = self.run.findings.iter();
        findings.find(|finding| finding.certainty != Certainty::Demoted)
    }

    /// The users of the run, if it has any.
    pub(crate) fn users(&self) -> Option<UsersSummary> {
        self.summary.breakdown.as_ref()?.users
    }

    /// The strictest latency bound of the objective, if it has one.
    pub(crate) fn strictest_bound(&self) -> Option<LatencyBound> {
        self.run.header.plan.objective.as_ref()?.strictest()
    }

    /// The unit of a search's loads.
    pub fn unit(&self) -> LoadUnit {
        let find = self.run.header.plan.find.filter(|_| self.is_search());
        find.map_or(LoadUnit::default(), |find| find.unit)
    }

    /// The reason why a plain run ended early, as a fragment; `None` otherwise.
    pub fn ended_early(&self) -> Option<String> {
        self.early.clone()
    }

    /// The objective in readable form.
    pub fn objective(&self) -> Option<String> {
        let objective = self.run.header.plan.objective.as_ref();
        objective.map(ToString::to_string)
    }

    /// Whether the objective bounds requests, and none ended in the judged seconds.
    pub(crate) fn lacks_requests(&self) -> bool {
        self.summary.lacks_requests(&self.run.header.plan)
    }

    /// Whether the judged seconds of a plain run meet the objective; `None` where nothing decides.
    pub(crate) fn objective_met(&self) -> Option<bool> {
        let met = self.summary.objective.as_ref()?.met;
        (!met || !self.lacks_requests()).then_some(met)
    }

    /// The load line; `None` without a search, and where it found none.
    pub fn load_line(&self) -> Option<&'a LoadLine> {
        self.run.search.as_ref()?.line.as_ref().ok()
    }

    /// The estimate of a line that the search could not confirm; `None` with a line, and without an estimate.
    pub fn estimate(&self) -> Option<Estimate> {
        self.run.search.as_ref()?.line.as_ref().err()?.estimate()
    }

    /// The load line with all its evidence; `None` without a line.
    pub fn statement(&self) -> Option<String> {
        let line = self.load_line()?;
        let objective = self.run.header.plan.objective.as_ref()?;
        Some(plimsoll_analysis::search::statement(line, objective))
    }
}
