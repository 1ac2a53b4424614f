//! A child process and its pipes.

use std::io;
use std::process::{Command, ExitStatus, Stdio};

use nix::time::clock_getcpuclockid;
use nix::unistd::Pid as ClockPid;
use plimsoll_model::journey::Inputs;
use rustix::fd::OwnedFd;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::clock;

/// Polls for the end of a process that has closed its output, and the time between them.
const EXIT_POLLS: u32 = 20;
const EXIT_POLL_NS: u64 = 1_000_000;

/// Polls for the end of a process whose input is closed.
const FINAL_EXIT_POLLS: u32 = 200;

/// A started process, in a process group of its own.
pub(super) struct Child {
    child: std::process::Child,
    ended: Option<ExitStatus>,
}

/// Our ends of its pipes; all are non-blocking.
pub(super) struct Pipes {
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

impl Child {
    pub(super) fn start(command: &[String], inputs: &Inputs) -> io::Result<(Self, Pipes)> {
        use std::os::unix::process::CommandExt as _;
        let [program, arguments @ ..] = command else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut builder = Command::new(program);
        builder
            .args(arguments)
            .env_clear()
            .envs(inputs.environment.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Terminal signals are for us to handle; and its own children end with it.
            .process_group(0);
        if !inputs.folder.as_os_str().is_empty() {
            builder.current_dir(&inputs.folder);
        }
        let mut child = builder.spawn()?;
        let missing = || io::Error::from(io::ErrorKind::BrokenPipe);
        let pipes = Pipes {
            stdin: child.stdin.take().ok_or_else(missing)?.into(),
            stdout: child.stdout.take().ok_or_else(missing)?.into(),
            stderr: child.stderr.take().ok_or_else(missing)?.into(),
        };
        let child = Self { child, ended: None };
        for pipe in [&pipes.stdin, &pipes.stdout, &pipes.stderr] {
            rustix::io::ioctl_fionbio(pipe, true)?;
        }
        Ok((child, pipes))
    }

    /// CPU time of all its threads so far, µs.
    pub(super) fn cpu_us(&self) -> Option<u64> {
        let pid = ClockPid::from_raw(i32::try_from(self.child.id()).ok()?);
        let used = clock_getcpuclockid(pid).ok()?.now().ok()?;
        let us = used.tv_sec() * 1_000_000 + used.tv_nsec() / 1000;
        u64::try_from(us).ok()
    }

    fn has_ended(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten();
        }
        self.ended.is_some()
    }

    fn wait_a_little(&mut self, polls: u32) -> bool {
        for _ in 0..polls {
            if self.has_ended() {
                return true;
            }
            clock::sleep(EXIT_POLL_NS);
        }
        self.has_ended()
    }

    /// Stops it, unless it is about to end by itself; returns how it ended.
    pub(super) fn end_now(&mut self, is_ending: bool) -> String {
        use std::os::unix::process::ExitStatusExt as _;
        let has_ended = is_ending && self.wait_a_little(EXIT_POLLS);
        self.kill();
        // On a busy machine one that is about to end may take longer than the wait. It ended by itself all the same, which
        // its status tells: the signal comes too late to change that.
        let is_killed = |status: ExitStatus| status.signal() == Some(Signal::KILL.as_raw());
        match self.ended {
            Some(status) if has_ended || (is_ending && !is_killed(status)) => ended(status),
            _ => "it was stopped".to_owned(),
        }
    }

    /// Kills it and its process group.
    fn kill(&mut self) {
        // The group may be gone already.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        if self.ended.is_none() {
            self.ended = self.child.wait().ok();
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Its standard input is closed: a process that reads to the end has ended, or will at once.
        self.wait_a_little(FINAL_EXIT_POLLS);
        self.kill();
    }
}

/// How a process ended, in words.
pub(crate) fn ended(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it ended with exit code {code}"),
        (None, Some(signal)) => format!("it was ended by signal {signal}"),
        (None, None) => "it ended".to_owned(),
    }
}
