//! The limit of open files of a process.

use rustix::process::{Pid, Resource, Rlimit, prlimit};

use super::TunableError;
use crate::kernel_files;
use crate::parse::process::stat;

/// The limit of open files of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFiles {
    /// Start time of the process, clock ticks since boot: it distinguishes processes that reuse a pid.
    pub started: u64,
    /// The limit.
    pub soft: u64,
    /// Up to which its owner may raise it.
    pub hard: u64,
}

/// The limit of open files of a process now.
///
/// # Errors
/// When there is no such process, or its limit cannot be read.
pub fn open_files(pid: u32) -> Result<OpenFiles, TunableError> {
    let gone = |_| TunableError::new(format!("process {pid} does not exist"));
    let text = kernel_files::text(&format!("/proc/{pid}/stat")).map_err(gone)?;
    let started = stat(&text).map(|stat| stat.start_ticks);
    let text = kernel_files::text(&format!("/proc/{pid}/limits")).map_err(gone)?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"));
    let mut limits = line
        .unwrap_or_default()
        .split_whitespace()
        .map_while(|word| word.parse().ok());
    match (started, limits.next(), limits.next()) {
        (Some(started), Some(soft), Some(hard)) => Ok(OpenFiles {
            started,
            soft,
            hard,
        }),
        _ => Err(TunableError::new(format!(
            "the open-files limit of process {pid} cannot be read"
        ))),
    }
}

/// Sets the limit of open files of a process that began at `limits.started`.
///
/// # Errors
/// When that process has ended, or permission is denied.
pub fn set_open_files(pid: u32, limits: OpenFiles) -> Result<(), TunableError> {
    if open_files(pid)?.started != limits.started {
        return Err(TunableError::new(format!("process {pid} has ended")));
    }
    let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let new = Rlimit {
        current: Some(limits.soft),
        maximum: Some(limits.hard),
    };
    prlimit(number, Resource::Nofile, new)
        .map(|_| ())
        .map_err(|error| {
            TunableError::new(format!(
                "the limits of process {pid} cannot be changed ({error}): run as its owner or as root"
            ))
        })
}
