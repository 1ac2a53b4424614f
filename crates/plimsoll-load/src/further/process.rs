//! A further process, as the one sees it that started it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use plimsoll_model::window::Window;

use super::numbers::Numbers;
use super::task::{ABORT, STOP, Said, Task};
use super::{Further, Used};
use crate::engine::wish;
use crate::error::LoadError;
use crate::process::ended;

/// Longest line that is taken, bytes: a second in which a million subscribers left has some tens of millions.
const LINE_LEN_MAX: u64 = 1 << 30;

/// One of them, and its seconds.
#[derive(Debug)]
pub(crate) struct FurtherProcess {
    child: Child,
    orders: Option<ChildStdin>,
    lines: BufReader<ChildStdout>,
    line: Vec<u8>,
    /// The next window, taken and not yet merged.
    pub(crate) next: Option<Window>,
    /// The second after the last that it told of.
    second: u32,
    told: u8,
    has_ended: bool,
    /// Its numbers of the channels that users named.
    pub(crate) numbers: Numbers,
    pub(crate) used: Used,
    /// Why its part ended before its time, where that is a fault of the plan.
    pub(crate) fault: Option<String>,
}

impl FurtherProcess {
    /// # Errors
    /// When the system starts no further process.
    pub(crate) fn start(further: &Further, task: &Task) -> Result<Self, LoadError> {
        let system = |source| LoadError::System {
            action: "start a further process of the load",
            source,
        };
        let mut child = Command::new(&further.program)
            .args(&further.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // What the terminal sends is this process's to handle.
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
            second: task.start_second,
            told: wish::RUN,
            has_ended: false,
            numbers: Numbers::default(),
            used: Used::default(),
            fault: None,
        };
        let line = serde_json::to_string(task).map_err(|error| system(error.into()))?;
        process.say(&line).map_err(system)?;
        Ok(process)
    }

    fn say(&mut self, line: &str) -> std::io::Result<()> {
        let Some(orders) = &mut self.orders else {
            return Ok(());
        };
        orders.write_all(line.as_bytes())?;
        orders.write_all(b"\n")?;
        orders.flush()
    }

    /// Looks at the next window; `None` when it has ended. One that ends without having said so leaves a window that
    /// says it, so that what it did not measure does not look complete.
    pub(crate) fn peek(&mut self) -> Option<&Window> {
        if self.next.is_none() && !self.has_ended {
            self.next = self.hear();
            if let Some(window) = &self.next {
                self.second = window.second.saturating_add(1);
            }
        }
        self.next.as_ref()
    }

    fn hear(&mut self) -> Option<Window> {
        self.line.clear();
        let mut line = (&mut self.lines).take(LINE_LEN_MAX);
        let read = line.read_until(b'\n', &mut self.line);
        let said = read
            .is_ok()
            .then(|| serde_json::from_slice(&self.line).ok());
        match said.flatten() {
            Some(Said::Window(window)) => Some(*window),
            Some(Said::Ended { used, fault }) => {
                self.end();
                (self.used, self.fault) = (used, fault);
                None
            }
            Some(Said::Failed(fault)) => {
                self.end();
                Some(self.faulty(&fault))
            }
            None => {
                let how = self.end();
                Some(self.faulty(&how))
            }
        }
    }

    /// Waits for its end, which has begun: how it ended.
    fn end(&mut self) -> String {
        self.has_ended = true;
        self.orders = None;
        // One that still runs has said nonsense.
        let _ = self.child.kill();
        self.child
            .wait()
            .map_or_else(|error| error.to_string(), ended)
    }

    fn faulty(&self, how: &str) -> Window {
        let mut window = Window::new(self.second);
        window.faults.push(format!(
            "a further process of the load (pid {}) did not carry its part to the end: {how}",
            self.child.id()
        ));
        window
    }

    /// What the loops of this process are told as well.
    pub(crate) fn tell(&mut self, wish: u8) {
        if wish <= self.told {
            return;
        }
        self.told = wish;
        // One that is gone needs no telling.
        let _ = self.say(if wish == wish::ABORT { ABORT } else { STOP });
    }
}

impl Drop for FurtherProcess {
    fn drop(&mut self) {
        if !self.has_ended {
            self.end();
        }
    }
}
