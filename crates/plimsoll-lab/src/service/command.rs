//! Commands that must end within a time limit: builds, reloads, resets, checks.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use super::fault::{ApplyFault, ApplyFaultKind};
use super::launch::{LaunchError, LaunchSpec, ProcessEnding, ProcessLimits};
use super::processes;
use super::stage::{Stage, with_cause};
use crate::clock::TimeLimit;

/// Longest time until a request to stop is noticed.
const GLANCE: Duration = Duration::from_millis(100);

/// A command that must end.
#[derive(Debug)]
pub(super) struct CommandSpec<'a> {
    /// Program and arguments.
    pub(super) words: &'a [String],
    /// Variables of this program that it does not have.
    pub(super) unset: &'a [&'a str],
    /// Where it starts.
    pub(super) folder: &'a Path,
    /// Time limit.
    pub(super) within: Duration,
    /// File of its output.
    pub(super) output: &'a Path,
}

/// Why a command did not do its work.
#[derive(Debug, thiserror::Error)]
pub(super) enum CommandFailure {
    /// It was not started.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// It failed.
    #[error("it {0}")]
    Ended(ProcessEnding),
    /// It took too long, and was ended.
    #[error("it took longer than {} and was ended", Rounded(*.0))]
    TooLong(Duration),
    /// The user requested a stop.
    #[error("interrupted")]
    Interrupted,
    /// It cannot be ended.
    #[error(transparent)]
    Stays(ApplyFault),
}

/// A duration for people: to a tenth of a second from one second on, else to the millisecond.
struct Rounded(Duration);

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step: u128 = if self.0.as_millis() >= 1000 { 100 } else { 1 };
        let steps = (self.0.as_micros() + step * 500) / (step * 1000);
        let millis = u64::try_from(steps * step).unwrap_or(u64::MAX);
        write!(f, "{:?}", Duration::from_millis(millis))
    }
}

impl CommandFailure {
    /// As a fault of a part of the experiment.
    pub(super) fn fault(self, kind: ApplyFaultKind, place: &str, output: &Path) -> ApplyFault {
        let remedy = format!("its output is in {}", output.display());
        match self {
            Self::Launch(error) => {
                error.fault(kind, place, "valid: a program of the PATH, or its path")
            }
            Self::Interrupted => ApplyFault::interrupted(),
            Self::Stays(fault) => fault,
            Self::Ended(_) | Self::TooLong(_) => {
                let problem = with_cause(self.to_string(), output);
                ApplyFault::new(kind, place, problem, remedy)
            }
        }
    }
}

impl Stage {
    /// Runs a command to its end. Processes that it leaves in the background live on.
    ///
    /// # Errors
    /// When it does not start, fails, takes too long, or the user requests a stop.
    pub(super) fn run_command(&mut self, spec: &CommandSpec<'_>) -> Result<(), CommandFailure> {
        let limit = TimeLimit::start(spec.within);
        let launched = self.launch(&LaunchSpec {
            words: spec.words,
            variables: Vec::new(),
            unset: spec.unset,
            folder: spec.folder,
            limits: ProcessLimits::default(),
            output: spec.output,
            pipes_errors: false,
            is_service: false,
        })?;
        let failure = loop {
            if let Some(ending) = launched.ending() {
                let entry = launched.entry();
                launched.reap();
                self.journal.reverted(entry);
                return if ending.is_success() {
                    Ok(())
                } else {
                    Err(CommandFailure::Ended(ending))
                };
            }
            if self.context.stop.is_raised() {
                break CommandFailure::Interrupted;
            }
            if limit.is_over() {
                break CommandFailure::TooLong(spec.within);
            }
            processes::wait_for_any(&[launched.handle()], limit.left().min(GLANCE));
        };
        let mark = launched.mark().clone();
        if processes::end(|| processes::members(&[&mark], &[]), Duration::ZERO).is_err() {
            // It stays in the journal.
            return Err(CommandFailure::Stays(ApplyFault::new(
                ApplyFaultKind::NotRestored,
                format!("process {}", mark.leader),
                format!("`{}` cannot be ended", launched.program()),
                format!("end it with `kill -9 {}`", mark.leader),
            )));
        }
        let entry = launched.entry();
        launched.reap();
        self.journal.reverted(entry);
        Err(failure)
    }
}
