//! A process that puts everything back when the program that measures is gone, or hangs.
//!
//! The program holds one end of a stream, and this process the other. An end of the stream without the word that all is
//! done means that the program was killed; a time without a beat that it hangs, and then it is killed. What is put back is
//! decided by the journal, whose lock a program holds while it lives: when a new program has it already, nothing is left to
//! do here.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use rustix::process::{PidfdFlags, Signal, getppid, pidfd_open, pidfd_send_signal, setsid};

use super::fault::{ApplyFault, ApplyFaultKind};
use super::processes;
use super::stage::with_last_line;
use crate::clock::TimeLimit;

/// File of its output, in the folder of the experiment.
const OUTPUT: &str = "dead-man.log";
/// Time for it to be ready, and between its start and the first beat.
const START_PATIENCE: Duration = Duration::from_mins(1);
/// Time for a word to be written.
const WRITE_PATIENCE: Duration = Duration::from_secs(1);
/// Time for a killed program to end.
const KILL_PATIENCE: Duration = Duration::from_secs(5);
/// Trials that a program may take for one before it hangs.
const BEAT_BY_TRIAL: u32 = 2;
/// Longest line between the two, bytes.
const LINE_LEN_MAX: usize = 4096;

/// It is ready.
const READY: &str = "ready";
/// Everything is put back.
const DONE: &str = "done";
/// The program lives, and will say so again within so many milliseconds.
const BEAT: &str = "beat ";

/// How a dead-man process is started.
#[derive(Clone, Debug)]
pub struct DeadManSpec {
    /// A program that uses [`DeadManWatch`].
    pub program: PathBuf,
    /// Its arguments for that.
    pub arguments: Vec<OsString>,
    /// Folder of the experiment.
    pub folder: PathBuf,
    /// The longest time of a trial.
    pub longest_trial: Duration,
}

/// The dead-man process, as the program that measures knows it. When this is dropped before [`Self::done`], it puts
/// everything back.
#[derive(Debug)]
pub struct DeadMan {
    spec: DeadManSpec,
    child: Child,
    stream: UnixStream,
}

impl DeadMan {
    /// Starts the process, and waits until it is ready.
    ///
    /// # Errors
    /// When it does not start, or is not ready.
    pub fn start(spec: DeadManSpec) -> Result<Self, ApplyFault> {
        let output = spec.folder.join(OUTPUT);
        let failed = |error: io::Error| {
            ApplyFault::new(
                ApplyFaultKind::Command,
                "dead-man process",
                with_last_line(
                    format!(
                        "the process that puts everything back if this one is killed does not start: {error}"
                    ),
                    &output,
                ),
                format!("its output is in {}", output.display()),
            )
        };
        let (child, stream) = spawn(&spec, &output).map_err(failed)?;
        let mut dead_man = Self {
            spec,
            child,
            stream,
        };
        dead_man.send_beat().map_err(failed)?;
        Ok(dead_man)
    }

    /// The id of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// This program lives. A process that is gone is started again.
    pub fn beat(&mut self) {
        if self.send_beat().is_ok() {
            return;
        }
        // It may be stopped.
        let _ = self.child.kill();
        let _ = self.child.wait();
        // If it does not start, the next beat tries again; the next start puts back what is left.
        if let Ok((child, stream)) = spawn(&self.spec, &self.spec.folder.join(OUTPUT)) {
            (self.child, self.stream) = (child, stream);
            let _ = self.send_beat();
        }
    }

    /// Everything is put back: the process ends.
    pub fn done(mut self) {
        let _ = self.stream.write_all(format!("{DONE}\n").as_bytes());
        let _ = self.stream.shutdown(Shutdown::Write);
        let _ = self.child.wait();
    }

    fn send_beat(&mut self) -> io::Result<()> {
        let within = self.spec.longest_trial.saturating_mul(BEAT_BY_TRIAL);
        let within_ms = within.as_millis();
        self.stream
            .write_all(format!("{BEAT}{within_ms}\n").as_bytes())
    }
}

/// Starts the process, and waits until it is ready.
fn spawn(spec: &DeadManSpec, output: &Path) -> io::Result<(Child, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_read_timeout(Some(START_PATIENCE))?;
    ours.set_write_timeout(Some(WRITE_PATIENCE))?;
    let output = File::create(output)?;
    let mut child = Command::new(&spec.program)
        .args(&spec.arguments)
        .stdin(OwnedFd::from(theirs))
        .stdout(output.try_clone()?)
        .stderr(output)
        .spawn()?;
    let mut line = String::new();
    let limited = (&ours).take(LINE_LEN_MAX as u64);
    let read = BufReader::new(limited).read_line(&mut line);
    if read.is_ok() && line.trim_end() == READY {
        return Ok((child, ours));
    }
    let _ = child.kill();
    let _ = child.wait();
    Err(read.err().unwrap_or_else(|| io::Error::other("it ended")))
}

/// How the program that measures ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramEnd {
    /// It has put everything back.
    Done,
    /// It was killed.
    Gone,
    /// It hung, and was killed.
    Hung,
}

/// The dead-man process itself: its standard input is the stream to the program that measures.
#[derive(Debug)]
pub struct DeadManWatch {
    stream: File,
    /// Readable when a line has come, or the program is gone.
    readable: OwnedFd,
    /// The program.
    parent: Option<OwnedFd>,
    /// What was read of the next line.
    text: Vec<u8>,
}

impl DeadManWatch {
    /// Begins a session of its own: what a terminal sends to the program is not meant for it.
    ///
    /// # Errors
    /// When there is no stream.
    pub fn begin() -> io::Result<Self> {
        // Refused where it has one already.
        let _ = setsid();
        let parent = getppid().and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        let stream = io::stdin().as_fd().try_clone_to_owned()?;
        Ok(Self {
            readable: stream.try_clone()?,
            stream: File::from(stream),
            parent,
            text: Vec::new(),
        })
    }

    /// Lets the program begin.
    ///
    /// # Errors
    /// When it is gone already.
    pub fn ready(&mut self) -> io::Result<()> {
        self.stream.write_all(format!("{READY}\n").as_bytes())
    }

    /// Waits until the program has ended; kills one that hangs.
    pub fn wait(&mut self) -> ProgramEnd {
        let mut limit = TimeLimit::start(START_PATIENCE);
        loop {
            match self.next_line(limit) {
                NextLine::End => return ProgramEnd::Gone,
                NextLine::Late => {
                    self.kill();
                    return ProgramEnd::Hung;
                }
                NextLine::Line(line) if line == DONE => return ProgramEnd::Done,
                NextLine::Line(line) => {
                    let within_ms = line.strip_prefix(BEAT).and_then(|it| it.parse().ok());
                    let within = within_ms.map_or(START_PATIENCE, Duration::from_millis);
                    limit = TimeLimit::start(within);
                }
            }
        }
    }

    fn next_line(&mut self, limit: TimeLimit) -> NextLine {
        loop {
            if let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.text.drain(..=end).collect();
                return NextLine::Line(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            if limit.is_over() {
                return NextLine::Late;
            }
            if processes::wait_for_any(&[&self.readable], limit.left()).is_empty() {
                continue;
            }
            let mut bytes = [0; LINE_LEN_MAX];
            match self.stream.read(&mut bytes) {
                Ok(0) => return NextLine::End,
                Ok(len) => self.text.extend_from_slice(&bytes[..len]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return NextLine::End,
            }
            if self.text.len() > LINE_LEN_MAX {
                return NextLine::End;
            }
        }
    }

    /// What a program that hangs has applied cannot be put back while it holds the journal.
    fn kill(&self) {
        let Some(parent) = &self.parent else {
            return;
        };
        let _ = pidfd_send_signal(parent, Signal::KILL);
        processes::wait_for_any(&[parent], KILL_PATIENCE);
    }
}

enum NextLine {
    Line(String),
    /// The other end is closed.
    End,
    /// The time is over.
    Late,
}
