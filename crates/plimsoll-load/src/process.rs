//! Processes of external scripts: started by an event loop, driven by lines of JSON over pipes.
//!
//! [`message`] defines the lines; the engine keeps the waiting users. A process never blocks a loop: its pipes are read
//! and written as connections are. Everything has a bound: the length of a line, unread input, standard error, and the
//! time until a reply.

mod child;
mod external_scripts;
pub(crate) mod message;
mod names;

use std::collections::{HashMap, HashSet, VecDeque};

use plimsoll_model::journey::{Inputs, ProcessPlan};
use plimsoll_model::redact;
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::io::Errno;

use crate::error::LoadError;
use child::{Child, Pipes};

pub(crate) use child::ended;
pub(crate) use external_scripts::{ExternalScripts, ScriptPipe};
pub(crate) use names::StepNames;

/// Longest line of a process, bytes.
const LINE_LEN_MAX: usize = 1 << 20;

/// Most unread input of a process, bytes.
const OUTBOX_LEN_MAX: usize = 64 << 20;

/// Most lines of standard error reported per process.
const STDERR_LINES_MAX: u32 = 20;

/// Longest reported part of such a line, characters.
const STDERR_LINE_LEN_MAX: usize = 300;

/// Capacity above which an emptied buffer is released, bytes.
const RETAINED_LEN_MAX: usize = 1 << 20;

/// Bytes read from a pipe at once.
const READ_LEN: usize = 64 * 1024;

/// A user who waits for its process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    deadline: u64,
    user: u32,
    number: u64,
    sequence: u32,
}

impl Wait {
    pub(crate) fn deadline(&self) -> u64 {
        self.deadline
    }

    /// The user's index in the loop.
    pub(crate) fn user(&self) -> u32 {
        self.user
    }

    /// The user's number, and that of the event whose reply is awaited.
    pub(crate) fn event(&self) -> (u64, u32) {
        (self.number, self.sequence)
    }
}

/// To whom a line of a process belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineOwner {
    /// One of its users, by its index in the loop.
    User(u32),
    /// A user that has left without waiting for it.
    Late,
    Unknown,
}

/// One process.
pub(crate) struct ExternalScript {
    /// Index of its journey.
    journey: u32,
    /// Its command, as shown in messages.
    command: String,
    timeout_ns: u64,
    stdin: Option<OwnedFd>,
    stdout: OwnedFd,
    stderr: OwnedFd,
    /// Standard output up to the end of an incomplete line.
    inbox: Vec<u8>,
    /// Pending input, and how much of it is written.
    outbox: Vec<u8>,
    written: usize,
    /// Registered for writability of its standard input.
    is_full: bool,
    /// Number of the current output line.
    lines: u64,
    /// Standard error up to the end of an incomplete line, and number of lines reported.
    grumble: Vec<u8>,
    stderr_lines: u32,
    /// The beginning of its current line of standard error was too long to wait for the end, and is reported.
    stderr_line_is_cut: bool,
    cpu_us: u64,
    /// Its users by number, with their index in the loop.
    users: HashMap<u64, u32>,
    /// Users that left without a reply, which may still arrive.
    late: HashSet<u64>,
    /// Waiting users, in the order of deadlines.
    waits: VecDeque<Wait>,
    /// It is unusable.
    is_gone: bool,
    /// Dropped after the pipes, so that it can end by itself.
    child: Child,
}

/// A line of a process, or the reason for its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ScriptOutput {
    /// With its number, from 1.
    Line(u64, Vec<u8>),
    TooLong,
    Closed,
}

impl ExternalScript {
    /// # Errors
    /// When the program cannot be started.
    pub(crate) fn start(
        plan: &ProcessPlan,
        (journey, name): (u32, &str),
        inputs: &Inputs,
    ) -> Result<Self, LoadError> {
        let process_error = |source: std::io::Error| LoadError::Process {
            journey: name.to_owned(),
            command: plan.shown(),
            source,
        };
        let (child, pipes) = Child::start(&plan.command, inputs).map_err(process_error)?;
        let Pipes {
            stdin,
            stdout,
            stderr,
        } = pipes;
        Ok(Self {
            journey,
            command: plan.shown(),
            timeout_ns: crate::clock::nanoseconds(plan.timeout),
            stdin: Some(stdin),
            stdout,
            stderr,
            inbox: Vec::new(),
            outbox: Vec::new(),
            written: 0,
            is_full: false,
            lines: 0,
            grumble: Vec::new(),
            stderr_lines: 0,
            stderr_line_is_cut: false,
            cpu_us: 0,
            users: HashMap::new(),
            late: HashSet::new(),
            waits: VecDeque::new(),
            is_gone: false,
            child,
        })
    }

    /// Its standard input, output and error, to be registered.
    pub(crate) fn pipes(&self) -> (Option<&OwnedFd>, &OwnedFd, &OwnedFd) {
        (self.stdin.as_ref(), &self.stdout, &self.stderr)
    }

    /// Index of its journey.
    pub(crate) fn journey(&self) -> u32 {
        self.journey
    }

    /// Whether it is unusable.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Whether it has pending input, and is not known to be full.
    pub(crate) fn wants_flush(&self) -> bool {
        self.has_mail() && !self.is_full
    }

    /// The line of its output that is being handled, for messages.
    pub(crate) fn set_line(&mut self, number: u64) {
        self.lines = number;
    }

    pub(crate) fn has_user(&self, number: u64) -> bool {
        self.users.contains_key(&number)
    }

    /// To whom a line for the user of this number belongs. A late reply is taken once.
    pub(crate) fn owner_of_line(&mut self, number: u64) -> LineOwner {
        match self.users.get(&number) {
            Some(&user) => LineOwner::User(user),
            None if self.late.remove(&number) => LineOwner::Late,
            None => LineOwner::Unknown,
        }
    }

    /// A user has left: its process is notified, unless it is gone.
    pub(crate) fn remove_user(&mut self, number: u64) {
        self.users.remove(&number);
        if !self.is_gone {
            let line = message::line(&message::Plain {
                user: number,
                event: "stop",
            });
            // A process whose input is full fails at the next event.
            let _ = self.queue_line(&line);
        }
    }

    /// A user waits for the reply to this event of it.
    pub(crate) fn begin_wait(&mut self, user: u32, (number, sequence): (u64, u32), now: u64) {
        self.waits.push_back(Wait {
            deadline: now.saturating_add(self.timeout_ns),
            user,
            number,
            sequence,
        });
    }

    /// The first user who waits, after removing those in front of it who no longer do.
    pub(crate) fn first_wait(&mut self, mut goes_on: impl FnMut(&Wait) -> bool) -> Option<Wait> {
        while let Some(wait) = self.waits.front() {
            if goes_on(wait) {
                return Some(*wait);
            }
            self.waits.pop_front();
        }
        None
    }

    /// The first user who waits has got no reply in time; returns the reason of its failure.
    pub(crate) fn give_up_first_wait(&mut self) -> Option<String> {
        let wait = self.waits.pop_front()?;
        self.late.insert(wait.number);
        Some(format!(
            "{} did not reply within {} s for user {}; the user left",
            self.command,
            self.timeout_ns as f64 / 1e9,
            wait.number
        ))
    }

    /// All users who wait.
    pub(crate) fn take_waits(&mut self) -> VecDeque<Wait> {
        std::mem::take(&mut self.waits)
    }

    /// The position of the last line in its output.
    pub(crate) fn place(&self) -> String {
        format!("{}, line {} of its output", self.command, self.lines)
    }

    /// Queues a line, which is written by the next [`ExternalScripts::flush`]. Returns whether there was room.
    pub(crate) fn queue_line(&mut self, line: &[u8]) -> bool {
        if self.outbox.len() - self.written + line.len() > OUTBOX_LEN_MAX {
            return false;
        }
        self.outbox.extend_from_slice(line);
        self.outbox.push(b'\n');
        true
    }

    fn has_mail(&self) -> bool {
        self.written < self.outbox.len()
    }

    /// Writes pending input. Returns whether all of it was written.
    ///
    /// # Errors
    /// When it no longer reads.
    fn flush(&mut self) -> Result<bool, Errno> {
        while self.has_mail() {
            let Some(stdin) = &self.stdin else {
                return Err(Errno::PIPE);
            };
            match rustix::io::write(stdin, &self.outbox[self.written..]) {
                Ok(written) => self.written += written,
                Err(Errno::AGAIN) => {
                    // Written bytes are released now and then, not with each piece.
                    if self.written > OUTBOX_LEN_MAX / 4 {
                        self.outbox.drain(..self.written);
                        self.written = 0;
                    }
                    return Ok(false);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        self.outbox.clear();
        self.outbox.shrink_to(RETAINED_LEN_MAX);
        self.written = 0;
        Ok(true)
    }

    /// Reads its output once: whole lines.
    pub(crate) fn read_output(&mut self) -> Vec<ScriptOutput> {
        let mut outputs = Vec::new();
        let closed = !read_into(&self.stdout, &mut self.inbox);
        while let Some(end) = memchr::memchr(b'\n', &self.inbox) {
            let rest = self.inbox.split_off(end + 1);
            let mut line = std::mem::replace(&mut self.inbox, rest);
            line.pop();
            self.lines += 1;
            if line.iter().any(|byte| !byte.is_ascii_whitespace()) {
                outputs.push(ScriptOutput::Line(self.lines, line));
            }
        }
        if self.inbox.len() > LINE_LEN_MAX {
            self.lines += 1;
            self.inbox = Vec::new();
            outputs.push(ScriptOutput::TooLong);
        }
        if closed {
            outputs.push(ScriptOutput::Closed);
        }
        outputs
    }

    /// Reads its standard error once: whole lines, shortened, the first ones only. Also returns whether there may be
    /// more.
    pub(crate) fn read_stderr(&mut self) -> (Vec<String>, bool) {
        let goes_on = read_into(&self.stderr, &mut self.grumble);
        let mut lines = Vec::new();
        while let Some(end) = memchr::memchr(b'\n', &self.grumble) {
            let rest = self.grumble.split_off(end + 1);
            let line = std::mem::replace(&mut self.grumble, rest);
            self.push_stderr_line(&line, &mut lines);
            self.stderr_line_is_cut = false;
        }
        if self.grumble.len() > READ_LEN || (!goes_on && !self.grumble.is_empty()) {
            let line = std::mem::take(&mut self.grumble);
            self.push_stderr_line(&line, &mut lines);
            self.stderr_line_is_cut = true;
        }
        (lines, goes_on)
    }

    /// Adds a line as it may be stored: a script may print what it sends. The rest of a line that was cut is left out,
    /// because a secret is recognized by what stands before it.
    fn push_stderr_line(&mut self, line: &[u8], lines: &mut Vec<String>) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end();
        let is_rest = self.stderr_line_is_cut;
        if is_rest || text.is_empty() || self.stderr_lines > STDERR_LINES_MAX {
            return;
        }
        self.stderr_lines += 1;
        if self.stderr_lines > STDERR_LINES_MAX {
            lines.push(format!(
                "its output beyond {STDERR_LINES_MAX} lines is left out"
            ));
        } else {
            let text = redact::text(text);
            lines.push(text.chars().take(STDERR_LINE_LEN_MAX).collect());
        }
    }

    /// CPU time used since the last call, µs.
    pub(crate) fn cpu_us(&mut self) -> u64 {
        let used = self.child.cpu_us().unwrap_or(self.cpu_us);
        let since = used.saturating_sub(self.cpu_us);
        self.cpu_us = used;
        since
    }

    /// Stops it, and returns a description of its end. One that `is_ending` by itself gets a moment to do so.
    pub(crate) fn end_now(&mut self, is_ending: bool) -> String {
        self.is_gone = true;
        self.stdin = None;
        self.outbox = Vec::new();
        self.written = 0;
        self.child.end_now(is_ending)
    }

    /// Closes its input, so that it ends by itself.
    pub(crate) fn dismiss(&mut self) {
        self.stdin = None;
    }
}

/// Reads once. Whether there may be more to come.
fn read_into(pipe: &OwnedFd, buffer: &mut Vec<u8>) -> bool {
    let start = buffer.len();
    buffer.resize(start + READ_LEN, 0);
    let read = rustix::io::read(pipe.as_fd(), &mut buffer[start..]);
    let (len, goes_on) = match read {
        Ok(0) => (0, false),
        Ok(len) => (len, true),
        Err(Errno::AGAIN | Errno::INTR) => (0, true),
        Err(_) => (0, false),
    };
    buffer.truncate(start + len);
    goes_on
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn start(script: &str) -> ExternalScript {
        let plan = ProcessPlan {
            command: ["sh", "-c", script].map(str::to_owned).to_vec(),
            count: 1,
            feeds: Vec::new(),
            timeout: Duration::from_secs(1),
        };
        ExternalScript::start(&plan, (0, "j"), &Inputs::default()).unwrap()
    }

    /// Waits until a pipe is readable.
    fn wait(pipe: &OwnedFd) {
        let mut ready = [rustix::event::PollFd::new(
            pipe,
            rustix::event::PollFlags::IN,
        )];
        rustix::event::poll(&mut ready, None).unwrap();
    }

    fn read_until_closed(process: &mut ExternalScript) -> Vec<ScriptOutput> {
        let mut all = Vec::new();
        while all.last() != Some(&ScriptOutput::Closed) {
            wait(&process.stdout);
            all.extend(process.read_output());
        }
        all
    }

    #[test]
    fn lines_come_whole_and_are_counted() {
        let mut process = start("read line; printf 'a %s\\n\\nb' \"$line\"; printf 'c\\n'; exit 3");
        assert!(process.queue_line(b"x"));
        assert_eq!(process.flush(), Ok(true));
        let outputs = read_until_closed(&mut process);
        let line = |number, text: &str| ScriptOutput::Line(number, text.into());
        assert_eq!(
            outputs,
            [line(1, "a x"), line(3, "bc"), ScriptOutput::Closed]
        );
        assert_eq!(
            process.place(),
            "sh -c read line; printf 'a %s\\n\\nb' \"$line\"; printf 'c\\n'; exit 3, line 3 of its output"
        );
        assert_eq!(process.end_now(true), "it ended with exit code 3");
    }

    #[test]
    fn a_line_without_end_is_given_up() {
        let mut process = start("head -c 3000000 /dev/zero; exec sleep 60");
        let mut outputs = Vec::new();
        while outputs.is_empty() {
            wait(&process.stdout);
            outputs = process.read_output();
        }
        assert_eq!(outputs, [ScriptOutput::TooLong]);
        assert_eq!(process.end_now(false), "it was stopped");
    }

    #[test]
    fn its_complaints_are_told_up_to_a_bound() {
        let mut process = start("seq 1 30 >&2");
        let lines = read_all_stderr(&mut process);
        assert_eq!(lines.len(), 21);
        assert_eq!((lines[0].as_str(), lines[19].as_str()), ("1", "20"));
        assert_eq!(lines[20], "its output beyond 20 lines is left out");
    }

    fn read_all_stderr(process: &mut ExternalScript) -> Vec<String> {
        let (mut lines, mut goes_on) = (Vec::new(), true);
        while goes_on {
            wait(&process.stderr);
            let (more, still) = process.read_stderr();
            lines.extend(more);
            goes_on = still;
        }
        lines
    }

    #[test]
    fn its_complaints_show_no_secret() {
        let mut process = start("echo 'sent Authorization: Bearer hush7431' >&2");
        assert_eq!(
            read_all_stderr(&mut process),
            ["sent Authorization: [redacted]"]
        );
    }

    #[test]
    fn the_end_of_a_long_complaint_is_never_told_without_its_beginning() {
        let mut process = start(
            "{ head -c 70000 /dev/zero | tr '\\0' x; printf ' Bearer '; head -c 70000 /dev/zero | tr '\\0' h; echo; echo next; } >&2",
        );
        let lines = read_all_stderr(&mut process);
        assert_eq!(lines, ["x".repeat(STDERR_LINE_LEN_MAX), "next".to_owned()]);
    }

    #[test]
    fn one_that_does_not_read_has_a_bound() {
        let mut process = start("exec sleep 60");
        let line = vec![b'x'; 1 << 20];
        let taken = (0..100).take_while(|_| process.queue_line(&line)).count();
        assert_eq!(taken, 63);
        assert_eq!(process.flush(), Ok(false));
        assert!(process.has_mail());
    }

    #[test]
    fn its_cpu_time_is_counted() {
        let mut process =
            start("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo; exec sleep 60");
        wait(&process.stdout);
        assert!(process.cpu_us() > 1000);
    }
}
