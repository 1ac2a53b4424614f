//! The loads of a search of settings: searches of the load line, and loads that rise through it.

use plimsoll_lab::active_run::Finished;
use plimsoll_lab::experiment::service_trials::{TrialLoad, TrialLoads, TrialWork};
use plimsoll_lab::experiment::trial::{PlannedTrial, TrialRecord, TrialRole};
use plimsoll_lab::experiment::tuning::{RampShape, TrialRamps};
use plimsoll_model::plan::{Find, Plan};

use crate::experiment::ExperimentLoads;

/// Makes the loads of the trials.
#[derive(Debug)]
pub(super) struct TuneLoads<'l> {
    pub(super) loads: &'l mut ExperimentLoads,
    pub(super) ramps: TrialRamps,
}

impl TrialLoads for TuneLoads<'_> {
    fn work(&mut self, trial: &PlannedTrial, records: &[TrialRecord]) -> Result<TrialWork, String> {
        if trial.role == TrialRole::Limit {
            let mut work = self.loads.work(trial, records)?;
            if let Some(from) = self.ramps.search_from(trial.cell, records) {
                for load in &mut work.loads {
                    self.begin_at(&mut load.assignment.plan, from);
                }
            }
            return Ok(work);
        }
        let shape = self.ramps.first(trial, records)?;
        Ok(TrialWork {
            warm: self
                .loads
                .warm_with(trial, |own, lasting| shape.steady(lasting).load(own))?,
            loads: vec![self.rising(trial, &shape)?],
        })
    }

    fn further(
        &mut self,
        trial: &PlannedTrial,
        finished: &Finished,
        number: u32,
    ) -> Option<TrialLoad> {
        let shape = self.ramps.further(finished, number)?;
        self.rising(trial, &shape).ok()
    }
}

impl TuneLoads<'_> {
    /// Lets the search of a plan begin at a load, in the unit of the search.
    fn begin_at(&self, plan: &mut Plan, from: f64) {
        let to = plan.find.and_then(|find| find.to);
        plan.find = Some(Find {
            unit: self.ramps.unit(),
            from: Some(to.map_or(from, |most| from.min(most))),
            to,
        });
    }

    fn rising(&self, trial: &PlannedTrial, shape: &RampShape) -> Result<TrialLoad, String> {
        let assignment = self.loads.with_load(trial, |own| shape.load(own))?;
        Ok(TrialLoad {
            name: "load".to_owned(),
            assignment,
            search: None,
            ends_beyond_line: true,
        })
    }
}
