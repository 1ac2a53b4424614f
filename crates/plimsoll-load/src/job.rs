//! The job of a run or a trial, as the caller defines it.

use std::sync::Arc;
use std::time::Instant;

use plimsoll_model::journey::Inputs;
use plimsoll_model::plan::{Load, Plan};
use plimsoll_model::seed::Seed;

/// One trial to run.
#[derive(Clone, Debug)]
pub struct Job {
    /// The plan: target and requests.
    pub plan: Arc<Plan>,
    /// The load; replaces the plan's own load.
    pub load: Load,
    /// Second 0 of run time.
    pub epoch: Instant,
    /// The start of the load in seconds after the epoch. [`crate::start`] is called a little before.
    pub start_second: u32,
    /// Seed of this trial's schedule.
    pub seed: Seed,
    /// Rows and files of the plan's scenario; empty without one.
    pub inputs: Arc<Inputs>,
}
