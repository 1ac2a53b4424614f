//! What a coordinator lets its workers carry: the load of a run, or one trial of a search.

use std::time::Duration;

use plimsoll_model::plan::{Load, Plan};
use plimsoll_model::seed::Seed;
use serde::{Deserialize, Serialize};

/// Where the requests of a load go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadDestination {
    /// To the target of the plan.
    #[default]
    Target,
    /// To a server that does nothing, on the host of each worker: the self-test of the generator.
    NullServer,
}

/// How users of earlier loads return to this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsersReturn {
    /// Time from the start over which new users arrive.
    pub within: Duration,
    /// Seed of the choice of journeys: the same for all loads.
    pub seed: Seed,
}

/// A load that all workers carry together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadOrder {
    /// The load; it replaces the plan's own.
    pub load: Load,
    /// Seed of its schedule.
    pub seed: Seed,
    /// Where its requests go.
    pub destination: LoadDestination,
    /// Users stay with their worker from load to load, and return so; `None` where each load has users of its own.
    pub users_return: Option<UsersReturn>,
    /// The judged seconds, counted from the start of the load, half-open.
    pub judged: (u32, u32),
    /// It is one of several: workers wait for the next one when it is over, and a lost worker voids it.
    pub is_trial: bool,
}

impl LoadOrder {
    /// The whole load of a plan, after which the workers end.
    pub fn of_plan(plan: &Plan) -> Self {
        Self {
            load: plan.load.clone(),
            seed: plan.seed,
            destination: LoadDestination::Target,
            users_return: None,
            judged: (seconds(plan.warmup), seconds(plan.load.lasting())),
            is_trial: false,
        }
    }
}

/// A time in seconds, rounded up.
fn seconds(time: Duration) -> u32 {
    let whole = time.as_secs() + u64::from(time.subsec_nanos() > 0);
    u32::try_from(whole).unwrap_or(u32::MAX)
}
