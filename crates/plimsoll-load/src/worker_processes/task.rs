//! The task of a worker process, and its output: lines of JSON on its standard input and output.

use std::sync::Arc;

use plimsoll_model::journey::Inputs;
use plimsoll_model::plan::{Load, Plan};
use plimsoll_model::seed::Seed;
use plimsoll_model::window::Window;
use serde::{Deserialize, Serialize};

use super::Used;
use crate::clock;
use crate::job::Job;
use crate::loop_share::LoopShare;

/// No further arrivals.
pub(crate) const STOP: &str = "stop";

/// No further arrivals, and no drain.
pub(crate) const ABORT: &str = "abort";

/// Its first line: a job and its share of it, with data that is not stored elsewhere.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WorkerTask {
    plan: Plan,
    load: Load,
    seed: Seed,
    start_second: u32,
    /// Second 0 of run time on the kernel's monotonic clock, ns: the only clock common to processes.
    epoch_ns: u64,
    share: LoopShare,
    rows: Vec<Vec<Vec<String>>>,
    files: Vec<Vec<u8>>,
}

impl WorkerTask {
    pub(crate) fn new(job: &Job, share: LoopShare) -> Self {
        Self {
            plan: Plan::clone(&job.plan),
            load: job.load.clone(),
            seed: job.seed,
            start_second: job.start_second,
            epoch_ns: clock::kernel_ns(job.epoch),
            share,
            rows: job.inputs.rows.clone(),
            files: job.inputs.files.clone(),
        }
    }

    pub(super) fn start_second(&self) -> u32 {
        self.start_second
    }

    pub(crate) fn into_job(self) -> (Job, LoopShare) {
        let share = self.share;
        let job = Job {
            plan: Arc::new(self.plan),
            load: self.load,
            epoch: clock::instant_of(self.epoch_ns),
            start_second: self.start_second,
            seed: self.seed,
            inputs: Arc::new(Inputs {
                rows: self.rows,
                files: self.files,
                // For external scripts; a scenario with them is carried by one process.
                ..Inputs::default()
            }),
        };
        (job, share)
    }
}

/// A message of a worker process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WorkerMessage {
    /// A second of all its loops.
    Window(Box<Window>),
    /// The last second was sent.
    Ended {
        used: Used,
        plan_error: Option<String>,
    },
    /// It could not start.
    Failed(String),
}
