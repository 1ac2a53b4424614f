//! Processes of external scripts: events are sent, lines are read, failed processes are handled.
//!
//! A request is due when its line has been read, or at the end of the pause in the same line. The time that users wait
//! for their process is counted separately from all response times.

use plimsoll_model::outcome::Outcome;
use rustix::event::epoll::EventFlags;

use super::Engine;
use crate::due::NEVER;
use crate::error::LoadError;
use crate::poller::Poller;
use crate::prepared_load::PreparedLoad;
use crate::process::message::{self, Nonsense, ScriptReply};
use crate::process::{ExternalScript, ScriptOutput, Wait};
use crate::user::ScriptState;

const STDIN: u32 = 0;
const STDOUT: u32 = 1;
const STDERR: u32 = 2;
/// Pipes per process, rounded up to a power of two.
const PIPES_EACH: u32 = 4;

/// Reads of the remaining output of a process that has ended.
const LAST_READS_MAX: u32 = 16;

/// Why a process is lost that has probably ended by itself.
const NOTHING_FOLLOWS: &str = "nothing follows";
const INPUT_CLOSED: &str = "it closed its standard input";

/// Starts the processes of a loop and registers their pipes.
pub(super) fn start(
    prepared: &PreparedLoad,
    poller: &Poller,
) -> Result<Vec<ExternalScript>, LoadError> {
    let mut processes = Vec::new();
    let scenario = prepared.plan.scenario.as_ref();
    let Some(scenario) = scenario.filter(|_| prepared.program.is_some()) else {
        return Ok(processes);
    };
    for (journey, each) in (0..).zip(&scenario.journeys) {
        let Some(plan) = &each.process else { continue };
        for _ in 0..plan.count {
            let process = ExternalScript::start(plan, (journey, &each.name), &prepared.inputs)?;
            let (_, stdout, stderr) = process.pipes();
            for (pipe, which) in [(stdout, STDOUT), (stderr, STDERR)] {
                let number = number(processes.len(), which);
                let added = poller.add_pipe(pipe, number, EventFlags::IN);
                added.map_err(|error| LoadError::System {
                    action: "wait for a process",
                    source: error.into(),
                })?;
            }
            processes.push(process);
        }
    }
    Ok(processes)
}

/// The number under which a pipe is registered.
fn number(index: usize, pipe: u32) -> u32 {
    u32::try_from(index).expect("processes are few") * PIPES_EACH + pipe
}

impl Engine {
    /// A pipe of a process is readable or writable.
    pub(super) fn on_pipe(&mut self, which: u32) {
        let index = (which / PIPES_EACH) as usize;
        if self
            .processes
            .get(index)
            .is_none_or(|process| process.is_gone)
        {
            return;
        }
        match which % PIPES_EACH {
            STDIN => self.flush_process(index),
            STDOUT => self.read_process_output(index),
            _ => {
                let goes_on = self.report_stderr(index);
                if !goes_on {
                    let (_, _, stderr) = self.processes[index].pipes();
                    // It may close that one alone.
                    let _ = self.poller.remove(stderr);
                }
            }
        }
    }

    /// Writes pending input of processes before the loop waits.
    pub(super) fn flush_processes(&mut self) {
        for index in 0..self.processes.len() {
            let process = &self.processes[index];
            if process.has_mail() && !process.is_full {
                self.flush_process(index);
            }
        }
    }

    fn flush_process(&mut self, index: usize) {
        let process = &mut self.processes[index];
        let flushed = process.flush();
        let Some(stdin) = process.pipes().0 else {
            return;
        };
        let done = match flushed {
            Ok(all) if all == process.is_full => {
                let changed = if all {
                    self.poller.remove(stdin)
                } else {
                    let number = number(index, STDIN);
                    self.poller.add_pipe(stdin, number, EventFlags::OUT)
                };
                process.is_full = !all;
                changed.is_ok()
            }
            Ok(_) => true,
            Err(_) => false,
        };
        if !done {
            // Its last output explains more than the closed input.
            self.read_process_output(index);
            let now = self.clock.now();
            self.lose_process(index, INPUT_CLOSED, now);
        }
    }

    /// Reads the output of a process.
    fn read_process_output(&mut self, index: usize) {
        let outputs = self.processes[index].read_output();
        for each in outputs {
            let now = self.clock.now();
            if self.processes[index].is_gone {
                return;
            }
            match each {
                ScriptOutput::Line(number, line) => {
                    self.processes[index].lines = number;
                    self.on_line(index, &line, now);
                }
                ScriptOutput::TooLong => self.lose_process(index, "it is longer than 1 MiB", now),
                ScriptOutput::Closed => self.lose_process(index, NOTHING_FOLLOWS, now),
            }
        }
    }

    fn on_line(&mut self, index: usize, line: &[u8], now: u64) {
        if now >= self.scheduler.end_ns() {
            // The load is over, whatever the process requests.
            return;
        }
        match message::read(line, &self.prepared.prefix) {
            Ok(ScriptReply { user, action: what }) => {
                if let Some(user) = self.who_waits(index, user, now) {
                    self.obey_process(user, what, now);
                }
            }
            Err(Nonsense::OfUser(user, error)) => {
                if let Some(user) = self.who_waits(index, user, now) {
                    self.be_misled(user, &error, now);
                }
            }
            Err(Nonsense::OfNobody(error)) => {
                let why = format!(
                    "{error}; write only messages to standard output, one per line, and everything else to standard error"
                );
                self.lose_process(index, &why, now);
            }
        }
    }

    /// The waiting user to whom a line belongs.
    fn who_waits(&mut self, index: usize, number: u64, now: u64) -> Option<u32> {
        let process = &mut self.processes[index];
        let Some(&user) = process.users.get(&number) else {
            if !process.late.remove(&number) {
                let why = format!("message for user {number}, which is not one of its users");
                self.lose_process(index, &why, now);
            }
            return None;
        };
        let journey = process.journey;
        let session = self.virtual_users().users[user as usize]
            .script_session
            .as_deref_mut();
        let Some(session) = session.filter(|session| session.state == ScriptState::Process) else {
            let why = format!("message for user {number} without a pending event");
            self.lose_process(index, &why, now);
            return None;
        };
        let waited_ns = now.saturating_sub(session.since);
        self.recorder.current().process_answered(journey, waited_ns);
        Some(user)
    }

    /// Sends an event of a user to its process, which replies with the user's next step.
    pub(super) fn send_event(&mut self, user: u32, line: &[u8], now: u64) {
        let state = &mut self.virtual_users().users[user as usize];
        let number = state.number;
        let Some(session) = &mut state.script_session else {
            return;
        };
        session.state = ScriptState::Process;
        session.sequence = session.sequence.wrapping_add(1);
        session.since = now;
        let (index, sequence) = (session.process, session.sequence);
        self.forget_waits(index);
        let process = &mut self.processes[index];
        process.waits.push_back(Wait {
            deadline: now.saturating_add(process.timeout_ns),
            user,
            number,
            sequence,
        });
        if !process.queue_line(line) {
            self.lose_process(index, "more than 64 MiB of its input is unread", now);
        }
    }

    /// Removes users who no longer wait.
    fn forget_waits(&mut self, index: usize) {
        while let Some(wait) = self.processes[index].waits.front().copied() {
            if self.still_waits(&wait) {
                return;
            }
            self.processes[index].waits.pop_front();
        }
    }

    fn still_waits(&mut self, wait: &Wait) -> bool {
        let user = self.virtual_users().users.get(wait.user as usize);
        user.filter(|user| user.number == wait.number)
            .and_then(|user| user.script_session.as_ref())
            .is_some_and(|session| {
                session.sequence == wait.sequence && session.state == ScriptState::Process
            })
    }

    /// The first deadline of a user who waits for its process.
    pub(super) fn next_wait(&self) -> u64 {
        let fronts = self
            .processes
            .iter()
            .filter_map(|process| process.waits.front());
        fronts.map(|wait| wait.deadline).min().unwrap_or(NEVER)
    }

    /// Users without a reply in time leave: their next step is unknown.
    pub(super) fn expire_waits(&mut self, now: u64) {
        if now < self.next_wait() || now >= self.scheduler.end_ns() {
            return;
        }
        for index in 0..self.processes.len() {
            while let Some(wait) = self.processes[index].waits.front().copied() {
                let waits = self.still_waits(&wait);
                if waits && wait.deadline > now {
                    break;
                }
                self.processes[index].waits.pop_front();
                if !waits {
                    continue;
                }
                let process = &mut self.processes[index];
                process.late.insert(wait.number);
                let reason = format!(
                    "{} did not reply within {} s for user {}; the user left",
                    process.command,
                    process.timeout_ns as f64 / 1e9,
                    wait.number
                );
                let journey = process.journey;
                self.recorder.current().process(journey).errors += 1;
                self.count_failure(wait.user, Outcome::Dropped, &reason, now);
                self.leave(wait.user, false, true, now);
            }
        }
    }

    /// A process is unusable, and its users leave: at once where they wait for it, else when their pending request or
    /// pause ends.
    fn lose_process(&mut self, index: usize, why: &str, now: u64) {
        if self.processes[index].is_gone {
            return;
        }
        self.read_process_cpu();
        let is_ending = [NOTHING_FOLLOWS, INPUT_CLOSED].contains(&why);
        let process = &mut self.processes[index];
        let (_, stdout, stderr) = process.pipes();
        for pipe in [stdout, stderr] {
            // A user may have left already.
            let _ = self.poller.remove(pipe);
        }
        let end = process.end_now(is_ending);
        let journey = process.journey;
        let message = format!("{}: {why}; {end}", process.place());
        let waits = std::mem::take(&mut process.waits);
        for _ in 0..LAST_READS_MAX {
            if !self.report_stderr(index) {
                break;
            }
        }
        if now >= self.scheduler.end_ns() {
            return;
        }
        let name = self.journey_name(journey);
        let error = format!("a process of the journey {name} failed: {message}");
        self.recorder.current().window.load_errors.push(error);
        self.recorder.current().process(journey).errors += 1;
        for wait in waits {
            if self.still_waits(&wait) {
                self.count_failure(wait.user, Outcome::Dropped, &message, now);
                self.leave(wait.user, false, true, now);
            }
        }
    }

    fn journey_name(&self, journey: u32) -> String {
        let scenario = self.prepared.plan.scenario.as_ref();
        let journey = scenario.and_then(|scenario| scenario.journeys.get(journey as usize));
        journey.map_or_else(String::new, |journey| journey.name.clone())
    }

    /// Reports lines of a process's standard error. Returns whether there may be more.
    fn report_stderr(&mut self, index: usize) -> bool {
        let (lines, goes_on) = self.processes[index].read_stderr();
        let journey = self.processes[index].journey;
        if !lines.is_empty() {
            let name = self.journey_name(journey);
            let messages = lines.into_iter().map(|line| format!("{name}: {line}"));
            self.recorder
                .current()
                .process(journey)
                .stderr
                .extend(messages);
        }
        goes_on
    }

    /// Counts the CPU time that processes have used.
    pub(super) fn read_process_cpu(&mut self) {
        for process in &mut self.processes {
            if !process.is_gone {
                let used_us = process.cpu_us();
                let second = self.recorder.current().process(process.journey);
                second.cpu_us += used_us;
                second.cpu_us_max = second.cpu_us_max.max(used_us);
            }
        }
    }

    /// No further event is sent to any process.
    pub(super) fn dismiss_processes(&mut self) {
        if self.processes.is_empty() {
            return;
        }
        self.read_process_cpu();
        for index in 0..self.processes.len() {
            self.report_stderr(index);
            self.processes[index].dismiss();
        }
    }
}
