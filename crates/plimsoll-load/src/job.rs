//! What is to be carried out, as the caller says it.

use std::sync::Arc;
use std::time::Instant;

use plimsoll_model::journey::Inputs;
use plimsoll_model::plan::{Load, Plan};
use plimsoll_model::seed::Seed;

/// One trial to carry out.
#[derive(Clone, Debug)]
pub struct Job {
    /// What to send where.
    pub plan: Arc<Plan>,
    /// How much of it; stands in place of the plan's own load.
    pub load: Load,
    /// Second 0 of run time.
    pub epoch: Instant,
    /// The load starts so many seconds after the epoch. [`crate::start`] is called a little before.
    pub start_second: u32,
    /// Seed of this trial's schedule.
    pub seed: Seed,
    /// Rows and files of the plan's scenario; empty without one.
    pub inputs: Arc<Inputs>,
}
