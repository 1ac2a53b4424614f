//! A worker process, as seen by the process that started it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use plimsoll_model::redact;
use plimsoll_model::websocket::WebSocketWindow;
use plimsoll_model::window::Window;

use super::numbers::Numbers;
use super::task::{ABORT, STOP, WorkerMessage, WorkerTask};
use super::{Used, WorkerProcesses};
use crate::channels::Channels;
use crate::error::LoadError;
use crate::process::ended;
use crate::stop_signal::command;

/// Longest line accepted, bytes: a second in which a million subscribers left has some tens of millions.
const LINE_LEN_MAX: u64 = 1 << 30;

/// A worker process, and its seconds.
#[derive(Debug)]
pub(crate) struct WorkerProcess {
    child: Child,
    orders: Option<ChildStdin>,
    lines: BufReader<ChildStdout>,
    line: Vec<u8>,
    /// The next window, taken and not yet merged.
    next: Option<Window>,
    /// The second after the last one reported.
    second: u32,
    sent_command: u8,
    has_ended: bool,
    /// Its numbers of channels named by users.
    numbers: Numbers,
    used: Used,
    /// Why its share ended early, where that is a plan error.
    plan_error: Option<String>,
}

impl WorkerProcess {
    /// # Errors
    /// When the system cannot start it.
    pub(crate) fn start(workers: &WorkerProcesses, task: &WorkerTask) -> Result<Self, LoadError> {
        let system = |source| LoadError::System {
            action: "start a worker process",
            source,
        };
        let mut child = Command::new(&workers.program)
            .args(&workers.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Terminal signals are for this process to handle.
            .process_group(0)
            .spawn()
            .map_err(system)?;
        let missing = || system(std::io::ErrorKind::BrokenPipe.into());
        let orders = child.stdin.take().ok_or_else(missing)?;
        let lines = child.stdout.take().ok_or_else(missing)?;
        let mut process = Self {
            child,
            orders: Some(orders),
            lines: BufReader::new(lines),
            line: Vec::new(),
            next: None,
            second: task.start_second(),
            sent_command: command::RUN,
            has_ended: false,
            numbers: Numbers::default(),
            used: Used::default(),
            plan_error: None,
        };
        let line = serde_json::to_string(task).map_err(|error| system(error.into()))?;
        process.send_line(&line).map_err(system)?;
        Ok(process)
    }

    fn send_line(&mut self, line: &str) -> std::io::Result<()> {
        let Some(orders) = &mut self.orders else {
            return Ok(());
        };
        orders.write_all(line.as_bytes())?;
        orders.write_all(b"\n")?;
        orders.flush()
    }

    /// Peeks at the next window; `None` when it has ended. One that ends unexpectedly leaves a window that
    /// reports it, so that the missing part does not look complete.
    pub(crate) fn peek(&mut self) -> Option<&Window> {
        if self.next.is_none() && !self.has_ended {
            self.next = self.read_window();
            if let Some(window) = &self.next {
                self.second = window.second.saturating_add(1);
            }
        }
        self.next.as_ref()
    }

    /// Takes the window last peeked at, if it is that of this second.
    pub(crate) fn take_window(&mut self, second: u32) -> Option<Window> {
        self.next.take_if(|window| window.second == second)
    }

    /// Turns its numbers of channels named by users into those of this process.
    pub(crate) fn translate_channels(
        &mut self,
        websocket: &mut WebSocketWindow,
        channels: &Channels,
    ) {
        self.numbers.translate(websocket, channels);
    }

    /// Resources it used, once it has ended.
    pub(crate) fn used(&self) -> Used {
        self.used
    }

    /// Why its share ended early, where that is a plan error.
    pub(crate) fn plan_error(&self) -> Option<&str> {
        self.plan_error.as_deref()
    }

    fn read_window(&mut self) -> Option<Window> {
        self.line.clear();
        let mut line = (&mut self.lines).take(LINE_LEN_MAX);
        let read = line.read_until(b'\n', &mut self.line);
        let message = read
            .is_ok()
            .then(|| serde_json::from_slice(&self.line).ok());
        match message.flatten() {
            Some(WorkerMessage::Window(window)) => Some(*window),
            Some(WorkerMessage::Ended { used, plan_error }) => {
                self.end();
                (self.used, self.plan_error) = (used, plan_error);
                None
            }
            Some(WorkerMessage::Failed(error)) => {
                self.end();
                Some(self.failure_window(&error))
            }
            None => {
                let how = self.end();
                Some(self.failure_window(&how))
            }
        }
    }

    /// Waits for its end, which has begun; returns how it ended.
    fn end(&mut self) -> String {
        self.has_ended = true;
        self.orders = None;
        // A process that still runs has sent invalid output.
        let _ = self.child.kill();
        self.child
            .wait()
            .map_or_else(|error| error.to_string(), ended)
    }

    fn failure_window(&self, how: &str) -> Window {
        let mut window = Window::new(self.second);
        let error = format!(
            "the worker process {} did not finish its share of the load: {how}",
            self.child.id()
        );
        // It is stored, and may quote a part of the plan.
        window.load_errors.push(redact::text(&error).into_owned());
        window
    }

    /// Forwards a command for the loops of this process.
    pub(crate) fn send_command(&mut self, command: u8) {
        if command <= self.sent_command {
            return;
        }
        self.sent_command = command;
        // The worker may be gone already.
        let _ = self.send_line(if command == command::ABORT {
            ABORT
        } else {
            STOP
        });
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        if !self.has_ended {
            self.end();
        }
    }
}
