//! One load of a run that goes on: what it is, how it is started where it is carried, and what it leaves.

use std::sync::Arc;

use plimsoll_load::{Job, Stay};
use plimsoll_model::plan::Load;
use plimsoll_model::seed::Seed;
use plimsoll_model::worker::WorkerRecord;
use plimsoll_workers::{LoadDestination, LoadOrder, UsersReturn, WorkersLost};

use super::ActiveRun;
use crate::carried_load::{CarriedLoad, StayedUsers};
use crate::error::LabError;

/// One load of the plan.
#[derive(Debug)]
pub(crate) struct Round {
    /// How much.
    pub(crate) load: Load,
    /// Seed of its schedule.
    pub(crate) seed: Seed,
    /// As of [`ActiveRun::next_second`].
    pub(crate) start_second: u32,
    /// What it is as a trial of a search; `None` for the whole load of a run.
    pub(crate) trial: Option<RoundOfTrial>,
}

/// A load that is one of several.
#[derive(Debug)]
pub(crate) struct RoundOfTrial {
    /// It goes to a server that does nothing instead of the target: the self-test of the generator.
    pub(crate) is_self_test: bool,
    /// The judged seconds, counted from its start, half-open.
    pub(crate) judged: (u32, u32),
    /// The users who return from another load, where users stay.
    pub(crate) stay: Option<Stay>,
}

/// A load that is over.
#[derive(Debug, Default)]
pub(crate) struct RoundEnd {
    /// The users who may return to another load; none unless users stay.
    pub(crate) stayed: StayedUsers,
    /// What each worker did; empty where this machine carried it.
    pub(crate) workers: Vec<WorkerRecord>,
    /// Workers that were lost, and what that means for further loads.
    pub(crate) loss: Option<WorkersLost>,
}

impl ActiveRun {
    /// Starts a load where it is carried.
    pub(super) fn begin(&self, round: Round) -> Result<CarriedLoad, LabError> {
        if let Some(workers) = &self.workers {
            let order = self.order_of(&round);
            let load = workers.start(self.clock.epoch(), round.start_second, &order)?;
            return Ok(CarriedLoad::Remote(load));
        }
        let is_self_test = round.trial.as_ref().is_some_and(|trial| trial.is_self_test);
        let null_server = is_self_test.then(plimsoll_load::null_server).transpose()?;
        let plan = match &null_server {
            Some(server) => Arc::new(server.in_place_of_target(&self.plan)),
            None => self.with_named(&self.plan),
        };
        let job = Job {
            plan,
            load: round.load,
            epoch: self.clock.epoch(),
            start_second: round.start_second,
            seed: round.seed,
            inputs: Arc::clone(&self.inputs),
        };
        let stay = round.trial.and_then(|trial| trial.stay);
        let load = match (stay, &self.worker_processes) {
            (Some(stay), _) => plimsoll_load::start_with(job, stay)?,
            (None, Some(worker_processes)) => plimsoll_load::start_over(job, worker_processes)?,
            (None, None) => plimsoll_load::start(job)?,
        };
        Ok(CarriedLoad::Local(load, null_server))
    }

    /// What the workers are to carry.
    fn order_of(&self, round: &Round) -> LoadOrder {
        let whole = LoadOrder {
            load: round.load.clone(),
            seed: round.seed,
            ..LoadOrder::of_plan(&self.plan)
        };
        let Some(trial) = &round.trial else {
            return whole;
        };
        let destination = if trial.is_self_test {
            LoadDestination::NullServer
        } else {
            LoadDestination::Target
        };
        LoadOrder {
            destination,
            users_return: trial.stay.as_ref().map(|stay| UsersReturn {
                within: stay.within,
                seed: stay.seed,
            }),
            judged: trial.judged,
            is_trial: true,
            ..whole
        }
    }
}
