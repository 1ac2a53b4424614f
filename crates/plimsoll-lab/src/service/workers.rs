//! Worker processes that a running server starts and ends at signals: `TTIN` adds one, `TTOU` ends one.
//!
//! Signals of one kind are merged while they are pending, so that each is sent after the one before it had its effect.
//! Workers are the children of the server that run its own executable.

use std::fs;
use std::path::Path;
use std::time::Duration;

use plimsoll_model::experiment::WorkerSignals;
use plimsoll_probe::rest;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

use super::applied::Applied;
use super::fault::{ApplyFault, ApplyFaultKind};
use super::processes;
use super::stage::{Reversal, Stage};
use crate::clock::TimeLimit;

/// Time between two looks at the workers.
const PAUSE: Duration = Duration::from_millis(20);
/// Longest file of a process id, bytes.
const PID_FILE_LEN_MAX: usize = 64;

/// Workers that were added or ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SignalledWorkers {
    /// File of the server's process id, as the experiment names it.
    pid_file: String,
    /// The server.
    pid: u32,
    /// Its start, clock ticks since boot.
    started: u64,
    /// The boot.
    boot: String,
    /// Workers before.
    from: u32,
    /// Workers meanwhile.
    to: u32,
    /// Time for each signal.
    within: Duration,
}

impl SignalledWorkers {
    /// What has changed, for people.
    pub(super) fn description(&self) -> String {
        let Self {
            pid_file, from, to, ..
        } = self;
        format!("{to} workers instead of {from} of the server of {pid_file}, until it restarts")
    }
}

/// Adds or ends workers until there are as many as the cell says.
pub(super) fn apply(
    stage: &mut Stage,
    cell: usize,
    signals: &WorkerSignals,
) -> Result<(), ApplyFault> {
    let levels = stage.experiment.cell(cell).unwrap_or_default();
    let Some(to) = signals.to.at(&levels).copied() else {
        return Ok(());
    };
    let path = stage.path(&signals.pid_file);
    let fault = |problem: String| {
        ApplyFault::new(
            ApplyFaultKind::Setting,
            format!("workers of {}", path.display()),
            problem,
            "valid: the file with the process id of a running gunicorn, unicorn or Puma cluster, which this user may signal",
        )
    };
    let server = Server::of(&path).map_err(fault)?;
    let from = server.workers().map_err(fault)?;
    if from == 0 {
        let problem = format!("process {} has no worker processes", server.pid);
        return Err(fault(problem));
    }
    if from == to {
        return Ok(());
    }
    let changed = SignalledWorkers {
        pid_file: signals.pid_file.clone(),
        pid: server.pid,
        started: server.started,
        boot: stage.boot.clone(),
        from,
        to,
        within: signals.within,
    };
    stage.journal.add(Applied::Workers(changed), false)?;
    server
        .reach(Some(stage), to, signals.within)
        .map_err(|error| match error {
            Unreached::Interrupted => ApplyFault::interrupted(),
            Unreached::Failed(problem) => fault(problem),
        })
}

/// Goes back to the number of workers from before, if the experiment names the server.
pub(super) fn put_back(
    stage: &Stage,
    changed: &SignalledWorkers,
    reversal: &mut Reversal,
) -> Result<(), ApplyFault> {
    let stays = |problem: String| {
        ApplyFault::new(
            ApplyFaultKind::NotRestored,
            format!("workers of {}", changed.pid_file),
            problem,
            format!(
                "restart the server, or send it TTIN or TTOU until it has {} workers, then delete {}",
                changed.from,
                stage.journal.path().display()
            ),
        )
    };
    let mut named = stage.experiment.setups.iter().flat_map(|it| &it.workers);
    if !named.any(|signals| signals.pid_file == changed.pid_file) {
        return Err(stays("the experiment does not name this server".to_owned()));
    }
    let server = Server {
        pid: changed.pid,
        started: changed.started,
    };
    // A server that was started again has as many workers as its configuration says.
    if changed.boot == stage.boot && server.is_alive() {
        let reached = server.reach(None, changed.from, changed.within);
        if let Err(Unreached::Failed(problem)) = reached
            && server.is_alive()
        {
            return Err(stays(problem));
        }
    }
    reversal.restored.push(changed.description());
    Ok(())
}

/// A server with workers.
#[derive(Clone, Copy, Debug)]
struct Server {
    pid: u32,
    started: u64,
}

enum Unreached {
    Interrupted,
    Failed(String),
}

impl Server {
    /// The server whose process id is in a file.
    fn of(path: &Path) -> Result<Self, String> {
        let text =
            fs::read_to_string(path).map_err(|error| format!("it cannot be read: {error}"))?;
        let pid = text
            .get(..text.len().min(PID_FILE_LEN_MAX))
            .unwrap_or_default();
        let pid = pid.lines().next().unwrap_or_default().trim().parse::<u32>();
        let pid = pid.map_err(|_| "it has no process id".to_owned())?;
        let process = rest::process(pid).filter(|it| !it.has_ended);
        let process = process.ok_or_else(|| format!("process {pid} does not run"))?;
        Ok(Self {
            pid,
            started: process.started,
        })
    }

    fn is_alive(&self) -> bool {
        let process = rest::process(self.pid);
        process.is_some_and(|it| it.started == self.started && !it.has_ended)
    }

    /// Its workers now.
    fn workers(&self) -> Result<u32, String> {
        let all = rest::processes().map_err(|error| error.to_string())?;
        let executable = executable(self.pid);
        let workers = all.iter().filter(|it| {
            it.parent == self.pid
                && !it.has_ended
                && executable.is_some()
                // While it ends, it has no program any more, but still its sockets: it is there until it has ended.
                && self::executable(it.pid).is_none_or(|own| Some(own) == executable)
        });
        u32::try_from(workers.count()).map_err(|error| error.to_string())
    }

    /// Sends signals until it has so many workers. Each may take `within`.
    fn reach(&self, stage: Option<&Stage>, to: u32, within: Duration) -> Result<(), Unreached> {
        let failed = Unreached::Failed;
        let mut now = self.workers().map_err(failed)?;
        while now != to {
            let (signal, name) = if now < to {
                (Signal::TTIN, "TTIN")
            } else {
                (Signal::TTOU, "TTOU")
            };
            self.send(signal).map_err(failed)?;
            let limit = TimeLimit::start(within);
            let before = now;
            while now == before {
                if stage.is_some_and(|stage| stage.check_stop().is_err()) {
                    return Err(Unreached::Interrupted);
                }
                if !self.is_alive() {
                    return Err(failed(format!(
                        "process {} has ended after {name}",
                        self.pid
                    )));
                }
                if limit.is_over() {
                    let pid = self.pid;
                    return Err(failed(format!(
                        "process {pid} still has {now} workers {within:?} after the signal {name}"
                    )));
                }
                processes::wait_for_any(&[], PAUSE);
                now = self.workers().map_err(failed)?;
            }
        }
        Ok(())
    }

    fn send(&self, signal: Signal) -> Result<(), String> {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        let send = |pid| {
            let handle = pidfd_open(pid, PidfdFlags::empty())?;
            // Held by its handle, it is the same process as before, or none.
            if self.is_alive() {
                pidfd_send_signal(&handle, signal)
            } else {
                Err(rustix::io::Errno::SRCH)
            }
        };
        let outcome = pid.map_or(Err(rustix::io::Errno::SRCH), send);
        outcome.map_err(|error| format!("process {} cannot be signalled: {error}", self.pid))
    }
}

/// The program that a process runs.
fn executable(pid: u32) -> Option<std::path::PathBuf> {
    fs::read_link(format!("/proc/{pid}/exe")).ok()
}
