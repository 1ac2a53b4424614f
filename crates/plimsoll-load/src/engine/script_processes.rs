//! Processes of external scripts: events are sent, lines are read, failed processes are handled.
//!
//! A request is due when its line has been read, or at the end of the pause in the same line. The time that users wait
//! for their process is counted separately from all response times.

use plimsoll_model::outcome::Outcome;

use super::Engine;
use crate::process::message::{self, Nonsense, ScriptReply};
use crate::process::{LineOwner, ScriptOutput, ScriptPipe, Wait};

/// Reads of the remaining output of a process that has ended.
const LAST_READS_MAX: u32 = 16;

/// Why a process is lost that has probably ended by itself.
const NOTHING_FOLLOWS: &str = "nothing follows";
const INPUT_CLOSED: &str = "it closed its standard input";

impl Engine {
    /// A pipe of a process is readable or writable.
    pub(super) fn on_pipe(&mut self, number: u32) {
        let Some((index, pipe)) = self.scripts.pipe(number) else {
            return;
        };
        match pipe {
            ScriptPipe::Stdin => self.flush_process(index),
            ScriptPipe::Stdout => self.read_process_output(index),
            ScriptPipe::Stderr => {
                let goes_on = self.report_stderr(index);
                if !goes_on {
                    let (_, _, stderr) = self.scripts[index].pipes();
                    // It may close that one alone.
                    let _ = self.poller.remove(stderr);
                }
            }
        }
    }

    /// Writes pending input of processes before the loop waits.
    pub(super) fn flush_processes(&mut self) {
        for index in 0..self.scripts.len() {
            if self.scripts[index].wants_flush() {
                self.flush_process(index);
            }
        }
    }

    fn flush_process(&mut self, index: usize) {
        if !self.scripts.flush(index, &self.poller) {
            // Its last output explains more than the closed input.
            self.read_process_output(index);
            let now = self.clock.now();
            self.lose_process(index, INPUT_CLOSED, now);
        }
    }

    /// Reads the output of a process.
    fn read_process_output(&mut self, index: usize) {
        let outputs = self.scripts[index].read_output();
        for each in outputs {
            let now = self.clock.now();
            if self.scripts[index].is_gone() {
                return;
            }
            match each {
                ScriptOutput::Line(number, line) => {
                    self.scripts[index].set_line(number);
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
        match message::read(line, self.prepared.prefix()) {
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
        let process = &mut self.scripts[index];
        let journey = process.journey();
        let user = match process.owner_of_line(number) {
            LineOwner::User(user) => user,
            LineOwner::Late => return None,
            LineOwner::Unknown => {
                let why = format!("message for user {number}, which is not one of its users");
                self.lose_process(index, &why, now);
                return None;
            }
        };
        let Some(since) = self.virtual_users().waits_since(user) else {
            let why = format!("message for user {number} without a pending event");
            self.lose_process(index, &why, now);
            return None;
        };
        let waited_ns = now.saturating_sub(since);
        self.recorder.current().process_answered(journey, waited_ns);
        Some(user)
    }

    /// Sends an event of a user to its process, which replies with the user's next step.
    pub(super) fn send_event(&mut self, user: u32, line: &[u8], now: u64) {
        let Some((index, event)) = self.virtual_users().begin_event(user, now) else {
            return;
        };
        self.first_wait(index);
        let process = &mut self.scripts[index];
        process.begin_wait(user, event, now);
        if !process.queue_line(line) {
            self.lose_process(index, "more than 64 MiB of its input is unread", now);
        }
    }

    /// The first user who still waits for this process.
    fn first_wait(&mut self, index: usize) -> Option<Wait> {
        let virtual_users = self.virtual_users.as_deref()?;
        self.scripts[index].first_wait(|wait| virtual_users.still_waits(wait))
    }

    /// Users without a reply in time leave: their next step is unknown.
    pub(super) fn expire_waits(&mut self, now: u64) {
        if now < self.scripts.next_wait() || now >= self.scheduler.end_ns() {
            return;
        }
        for index in 0..self.scripts.len() {
            while let Some(wait) = self.first_wait(index)
                && wait.deadline() <= now
                && let Some(reason) = self.scripts[index].give_up_first_wait()
            {
                let journey = self.scripts[index].journey();
                self.recorder.current().count_process_error(journey);
                self.count_failure(wait.user(), Outcome::Dropped, &reason, now);
                self.leave(wait.user(), false, true, now);
            }
        }
    }

    /// A process is unusable, and its users leave: at once where they wait for it, else when their pending request or
    /// pause ends.
    fn lose_process(&mut self, index: usize, why: &str, now: u64) {
        if self.scripts[index].is_gone() {
            return;
        }
        self.read_process_cpu();
        let is_ending = [NOTHING_FOLLOWS, INPUT_CLOSED].contains(&why);
        let process = &mut self.scripts[index];
        let (_, stdout, stderr) = process.pipes();
        for pipe in [stdout, stderr] {
            // A user may have left already.
            let _ = self.poller.remove(pipe);
        }
        let end = process.end_now(is_ending);
        let journey = process.journey();
        let message = format!("{}: {why}; {end}", process.place());
        let waits = process.take_waits();
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
        self.recorder.current().add_load_error(&error);
        self.recorder.current().count_process_error(journey);
        for wait in waits {
            let virtual_users = self.virtual_users.as_deref();
            if virtual_users.is_some_and(|virtual_users| virtual_users.still_waits(&wait)) {
                self.count_failure(wait.user(), Outcome::Dropped, &message, now);
                self.leave(wait.user(), false, true, now);
            }
        }
    }

    fn journey_name(&self, journey: u32) -> String {
        let scenario = self.prepared.scenario();
        let journey = scenario.and_then(|scenario| scenario.journeys.get(journey as usize));
        journey.map_or_else(String::new, |journey| journey.name.clone())
    }

    /// Reports lines of a process's standard error. Returns whether there may be more.
    fn report_stderr(&mut self, index: usize) -> bool {
        let (lines, goes_on) = self.scripts[index].read_stderr();
        let journey = self.scripts[index].journey();
        if !lines.is_empty() {
            let name = self.journey_name(journey);
            let messages = lines.into_iter().map(|line| format!("{name}: {line}"));
            self.recorder
                .current()
                .add_process_stderr(journey, messages);
        }
        goes_on
    }

    /// Counts the CPU time that processes have used.
    pub(super) fn read_process_cpu(&mut self) {
        for process in self.scripts.iter_mut() {
            if !process.is_gone() {
                let used_us = process.cpu_us();
                let second = self.recorder.current();
                second.add_process_cpu(process.journey(), used_us);
            }
        }
    }

    /// No further event is sent to any process.
    pub(super) fn dismiss_processes(&mut self) {
        if self.scripts.is_empty() {
            return;
        }
        self.read_process_cpu();
        for index in 0..self.scripts.len() {
            self.report_stderr(index);
            self.scripts[index].dismiss();
        }
    }
}
