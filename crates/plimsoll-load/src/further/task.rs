//! What a further process is to do, and what it says: lines of JSON on its standard input and output.

use std::io::{self, BufRead, Write};
use std::sync::Arc;

use plimsoll_model::journey::Inputs;
use plimsoll_model::plan::{Load, Plan};
use plimsoll_model::seed::Seed;
use plimsoll_model::window::Window;
use serde::{Deserialize, Serialize};

use super::Used;
use crate::clock;
use crate::engine::wish;
use crate::job::Job;
use crate::part::Part;
use crate::running::{self, Stopper};

/// No further arrivals.
pub(super) const STOP: &str = "stop";

/// No further arrivals, and no drain.
pub(super) const ABORT: &str = "abort";

/// Where the highest resident memory of a process stands.
const STATUS: &str = "/proc/self/status";

/// Its first line: a job and the part of it, with the data that nobody stores.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    plan: Plan,
    load: Load,
    seed: Seed,
    pub(super) start_second: u32,
    /// Second 0 of run time as the kernel's monotonic clock counts, ns: no other clock is common to processes.
    epoch_ns: u64,
    first: u32,
    step: u32,
    rows: Vec<Vec<Vec<String>>>,
    files: Vec<Vec<u8>>,
}

impl Task {
    pub(crate) fn new(job: &Job, part: Part) -> Self {
        Self {
            plan: Plan::clone(&job.plan),
            load: job.load.clone(),
            seed: job.seed,
            start_second: job.start_second,
            epoch_ns: clock::kernel_ns(job.epoch),
            first: part.first,
            step: part.step,
            rows: job.inputs.rows.clone(),
            files: job.inputs.files.clone(),
        }
    }

    fn parts(self) -> (Job, Part) {
        let part = Part {
            first: self.first,
            step: self.step,
        };
        let job = Job {
            plan: Arc::new(self.plan),
            load: self.load,
            epoch: clock::instant_of(self.epoch_ns),
            start_second: self.start_second,
            seed: self.seed,
            inputs: Arc::new(Inputs {
                rows: self.rows,
                files: self.files,
                // For processes that say what users do; a scenario that has them is carried by one.
                ..Inputs::default()
            }),
        };
        (job, part)
    }
}

/// What it says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Said {
    /// A second of all its loops.
    Window(Box<Window>),
    /// The last was said.
    Ended { used: Used, fault: Option<String> },
    /// It could not begin.
    Failed(String),
}

/// Carries out the part of a load that the first line of `orders` says, and writes what it comes to. Ends early when
/// `orders` ends, because whoever gave them has.
///
/// # Errors
/// When the first line is no such order, or nobody reads what is written.
pub fn carry_out_part(
    mut orders: impl BufRead + Send + 'static,
    mut out: impl Write,
) -> io::Result<()> {
    let mut line = String::new();
    orders.read_line(&mut line)?;
    let task: Task = serde_json::from_str(&line)?;
    let (job, part) = task.parts();
    let mut running = match running::begin(job, None, part) {
        Ok(running) => running,
        Err(error) => return say(&mut out, &Said::Failed(error.to_string())),
    };
    let stopper = running.stopper();
    std::thread::Builder::new()
        .name("orders".to_owned())
        .spawn(move || heed(orders, &stopper))?;
    while let Some(window) = running.next_window() {
        say(&mut out, &Said::Window(Box::new(window)))?;
    }
    let used = Used {
        cpu_us: clock::process_cpu_us(),
        rss_bytes_max: rss_bytes_max().unwrap_or(0),
    };
    let fault = running.fault().map(ToOwned::to_owned);
    say(&mut out, &Said::Ended { used, fault })
}

fn say(out: &mut impl Write, said: &Said) -> io::Result<()> {
    let mut line = serde_json::to_vec(said)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}

/// Does what it is told, until nobody is left to tell it.
fn heed(orders: impl BufRead, stopper: &Stopper) {
    for line in orders.lines().map_while(Result::ok) {
        if line == STOP {
            stopper.tell(wish::STOP);
        }
        if line == ABORT {
            break;
        }
    }
    stopper.tell(wish::ABORT);
}

fn rss_bytes_max() -> Option<u64> {
    let text = std::fs::read_to_string(STATUS).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
