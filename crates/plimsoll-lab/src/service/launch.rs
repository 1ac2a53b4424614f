//! Starts processes. A launcher is started first: it waits until its process is in the journal, limits itself, and then
//! becomes the program. So no process exists that the journal does not name, and no limit comes late.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use plimsoll_probe::rest;
use rustix::process::{Resource, Rlimit, WaitId, WaitIdOptions, setrlimit, waitid};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde::{Deserialize, Serialize};

use super::applied::{Applied, ProcessMark};
use super::fault::{ApplyFault, ApplyFaultKind};
use super::processes::{self, MARK_VARIABLE};
use super::stage::Stage;

/// Longest order, bytes.
const ORDER_LEN_MAX: u64 = 16 << 20;
/// Time for a launcher to become the program.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longest error of a launcher, bytes.
const ERROR_LEN_MAX: u64 = 4096;

/// What a launcher becomes.
#[derive(Debug, Serialize, Deserialize)]
struct LaunchOrder {
    words: Vec<String>,
    variables: Vec<(String, String)>,
    unset: Vec<String>,
    limits: ProcessLimits,
}

/// Limits that a process puts on itself and its descendants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProcessLimits {
    /// The files by which it joins control groups.
    pub(super) groups: Vec<PathBuf>,
    /// CPUs that it may use; empty for all.
    pub(super) cpus: Vec<usize>,
    /// Longest address space, bytes.
    pub(super) address_space: Option<u64>,
}

/// A process that is to be started.
#[derive(Debug)]
pub(super) struct LaunchSpec<'a> {
    /// Program and arguments.
    pub(super) words: &'a [String],
    /// Variables, in addition to those of this program.
    pub(super) variables: Vec<(String, String)>,
    /// Variables of this program that it does not have.
    pub(super) unset: &'a [&'a str],
    /// Where it starts.
    pub(super) folder: &'a Path,
    /// Its limits.
    pub(super) limits: ProcessLimits,
    /// File of its output.
    pub(super) output: &'a Path,
    /// Whether its standard error is read here instead.
    pub(super) pipes_errors: bool,
    /// Whether processes that it leaves behind end with it.
    pub(super) is_service: bool,
}

/// Why a process was not started.
#[derive(Debug, thiserror::Error)]
pub(super) enum LaunchError {
    /// The system did not start the launcher.
    #[error("a process cannot be started: {0}")]
    Start(#[from] io::Error),
    /// The launcher did not become the program.
    #[error("`{program}` cannot be started: {why}")]
    Refused {
        /// The program.
        program: String,
        /// Why.
        why: String,
    },
    /// The journal cannot be written.
    #[error(transparent)]
    Journal(#[from] ApplyFault),
}

impl LaunchError {
    /// As a fault of a part of the experiment.
    pub(super) fn fault(self, kind: ApplyFaultKind, place: &str, remedy: &str) -> ApplyFault {
        match self {
            Self::Journal(fault) => fault,
            Self::Start(_) | Self::Refused { .. } => {
                ApplyFault::new(kind, place, self.to_string(), remedy)
            }
        }
    }
}

/// A process that was started here. It is not ended by a drop: the journal names it.
#[derive(Debug)]
pub(super) struct Launched {
    child: Child,
    handle: OwnedFd,
    mark: ProcessMark,
    entry: u64,
    program: String,
}

impl Launched {
    /// By what its processes are found.
    pub(super) fn mark(&self) -> &ProcessMark {
        &self.mark
    }

    /// Its number in the journal.
    pub(super) fn entry(&self) -> u64 {
        self.entry
    }

    /// A handle that is readable when it has ended.
    pub(super) fn handle(&self) -> &OwnedFd {
        &self.handle
    }

    /// The program, for people.
    pub(super) fn program(&self) -> &str {
        &self.program
    }

    /// Its standard error, where it is read here.
    pub(super) fn take_errors(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// How it ended; `None` while it lives. Its id is not given away before [`Self::reap`].
    pub(super) fn ending(&self) -> Option<ProcessEnding> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::PidFd(self.handle.as_fd()), options).ok()??;
        Some(ProcessEnding {
            code: status.exit_status(),
            signal: status.terminating_signal(),
        })
    }

    /// Takes its status, after its end.
    pub(super) fn reap(mut self) {
        let _ = self.child.wait();
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessEnding {
    code: Option<i32>,
    signal: Option<i32>,
}

impl ProcessEnding {
    pub(super) fn is_success(self) -> bool {
        self.code == Some(0)
    }
}

impl std::fmt::Display for ProcessEnding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "ended with exit code {code}"),
            (None, Some(signal)) => write!(f, "was ended by signal {signal}"),
            (None, None) => f.write_str("ended"),
        }
    }
}

impl Stage {
    /// Starts a process.
    ///
    /// # Errors
    /// When that fails; no process is left then.
    pub(super) fn launch(&mut self, spec: &LaunchSpec<'_>) -> Result<Launched, LaunchError> {
        let program = spec.words.first().cloned().unwrap_or_default();
        let refused = |why: String| LaunchError::Refused {
            program: program.clone(),
            why,
        };
        if !spec.folder.is_dir() {
            let folder = spec.folder.display();
            return Err(refused(format!("the folder {folder} does not exist")));
        }
        let token = if spec.is_service {
            Some(processes::token()?)
        } else {
            None
        };
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(PATIENCE))?;
        ours.set_write_timeout(Some(PATIENCE))?;
        let mut child = self.start_launcher(spec, theirs)?;
        let started = self.journalled(&child, token.clone());
        let (handle, mark, entry) = match started {
            Ok(started) => started,
            Err(error) => {
                // Without an order it ends.
                drop(ours);
                let _ = child.wait();
                return Err(error);
            }
        };
        let mut variables = spec.variables.clone();
        variables.extend(token.map(|token| (MARK_VARIABLE.to_owned(), token)));
        let order = LaunchOrder {
            words: spec.words.to_vec(),
            variables,
            unset: spec.unset.iter().map(|&name| name.to_owned()).collect(),
            limits: spec.limits.clone(),
        };
        if let Err(error) = give(&ours, &order) {
            drop(ours);
            let _ = child.kill();
            let _ = child.wait();
            self.journal.reverted(entry);
            return Err(refused(error.to_string()));
        }
        Ok(Launched {
            child,
            handle,
            mark,
            entry,
            program,
        })
    }

    fn start_launcher(&self, spec: &LaunchSpec<'_>, order: UnixStream) -> io::Result<Child> {
        let output = File::create(spec.output)?;
        let launcher = &self.context.launcher;
        let errors = if spec.pipes_errors {
            Stdio::piped()
        } else {
            Stdio::from(output.try_clone()?)
        };
        // The command holds the launcher's end of the stream, and is dropped here.
        Command::new(&launcher.program)
            .args(&launcher.arguments)
            .current_dir(spec.folder)
            // What the terminal sends to us is ours to handle.
            .process_group(0)
            .stdin(OwnedFd::from(order))
            .stdout(output)
            .stderr(errors)
            .spawn()
    }

    /// Writes a process into the journal.
    fn journalled(
        &mut self,
        child: &Child,
        token: Option<String>,
    ) -> Result<(OwnedFd, ProcessMark, u64), LaunchError> {
        let gone = || io::Error::other("the launcher has ended");
        let handle = processes::handle_of(child.id()).ok_or_else(gone)?;
        let state = rest::process(child.id()).ok_or_else(gone)?;
        let mark = ProcessMark {
            boot: self.boot.clone(),
            leader: child.id(),
            started: state.started,
            session: state.session,
            token,
        };
        let entry = self.journal.add(Applied::Process(mark.clone()), false)?;
        Ok((handle, mark, entry))
    }
}

/// Gives a launcher its order, and waits until it has become the program.
fn give(mut stream: &UnixStream, order: &LaunchOrder) -> io::Result<()> {
    stream.write_all(serde_json::to_string(order)?.as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    let mut error = String::new();
    // The launcher's end is closed when the program is executed.
    stream.take(ERROR_LEN_MAX).read_to_string(&mut error)?;
    if error.is_empty() {
        Ok(())
    } else {
        Err(io::Error::other(error))
    }
}

/// Becomes the service that is described on standard input: limits itself, then executes it. For the hidden command of
/// [`Launcher`](super::Launcher); returns only when that fails, or nobody is left to give an order.
pub fn launch() -> io::Error {
    // Closed when the program is executed, which is how the other end knows.
    let stream = match io::stdin().as_fd().try_clone_to_owned() {
        Ok(stream) => File::from(stream),
        Err(error) => return error,
    };
    let Err(error) = read_order(&stream).and_then(|order| execute(&order));
    // Nobody may be left who reads it.
    let _ = (&stream).write_all(error.to_string().as_bytes());
    error
}

fn read_order(stream: &File) -> io::Result<LaunchOrder> {
    let mut text = String::new();
    stream.take(ORDER_LEN_MAX).read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text)?)
}

fn execute(order: &LaunchOrder) -> io::Result<Infallible> {
    restrict(&order.limits)?;
    let Some((program, arguments)) = order.words.split_first() else {
        return Err(io::Error::other("the command is empty"));
    };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    for name in &order.unset {
        command.env_remove(name);
    }
    let variables = order.variables.iter();
    command.envs(variables.map(|(name, value)| (name, value)));
    Err(command.exec())
}

fn restrict(limits: &ProcessLimits) -> io::Result<()> {
    for file in &limits.groups {
        // 0 is the process that writes.
        std::fs::write(file, "0").map_err(|error| {
            let text = format!(
                "the control group {} cannot be joined: {error}",
                file.display()
            );
            io::Error::other(text)
        })?;
    }
    if !limits.cpus.is_empty() {
        let mut set = CpuSet::new();
        for cpu in limits.cpus.iter().filter(|cpu| **cpu < CpuSet::MAX_CPU) {
            set.set(*cpu);
        }
        sched_setaffinity(None, &set)?;
    }
    if let Some(bytes) = limits.address_space {
        let limit = Rlimit {
            current: Some(bytes),
            maximum: Some(bytes),
        };
        setrlimit(Resource::As, limit)?;
    }
    Ok(())
}
