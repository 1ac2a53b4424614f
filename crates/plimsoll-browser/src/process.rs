//! The processes of a browser, and its pipes.

use std::io::{self, BufRead as _, BufReader, Read as _, pipe};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStderr, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use command_fds::{CommandFdExt as _, FdMapping};
use plimsoll_model::lock::lock;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::clock::Deadline;
use crate::program;
use crate::protocol::Connection;
use crate::spec::BrowserSpec;

/// Time for a browser to be killed, and its profile to be removed.
const END_PATIENCE: Duration = Duration::from_secs(10);
/// Descriptors by which Chromium is commanded: it reads the first and writes the second.
const BROWSER_INPUT: i32 = 3;
const BROWSER_OUTPUT: i32 = 4;
/// What is kept of the browser's last line of errors, bytes.
const ERROR_LEN_MAX: u64 = 4096;

/// The processes: the guard, and behind it the browser.
#[derive(Debug)]
pub(crate) struct Process {
    guard: Child,
    /// Open as long as the browser shall run.
    input: Option<ChildStdin>,
    connection: Connection,
    last_error: Arc<Mutex<Option<String>>>,
    threads: Vec<JoinHandle<()>>,
    has_ended: bool,
}

impl Process {
    /// Starts the guard, which starts the browser.
    pub(crate) fn start(spec: &BrowserSpec) -> io::Result<Self> {
        let (browser_input, our_output) = pipe()?;
        let (our_input, browser_output) = pipe()?;
        let mappings = [
            (OwnedFd::from(browser_input), BROWSER_INPUT),
            (OwnedFd::from(browser_output), BROWSER_OUTPUT),
        ];
        let mappings = mappings.map(|(parent_fd, child_fd)| FdMapping {
            parent_fd,
            child_fd,
        });
        let (program, arguments) = &spec.guard;
        let mut command = Command::new(program);
        command
            // What a terminal sends is meant for this program, which ends the browser.
            .process_group(0)
            .args(arguments)
            .arg(&spec.plan.program)
            .args(program::arguments(
                &spec.hosts,
                spec.accepts_any_certificate,
            ))
            .env_clear()
            .envs(spec.environment.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .fd_mappings(mappings.into())
            .map_err(io::Error::other)?;
        let mut guard = command.spawn()?;
        // Only the browser holds its ends now.
        drop(command);
        let (input, errors) = (guard.stdin.take(), guard.stderr.take());
        let connection = Connection::new(our_output);
        let mut process = Self {
            guard,
            input,
            connection: connection.clone(),
            last_error: Arc::default(),
            threads: Vec::new(),
            has_ended: false,
        };
        process.follow("browser", move || connection.read_all(our_input))?;
        if let Some(errors) = errors {
            let last_error = Arc::clone(&process.last_error);
            process.follow("browser errors", move || keep_last(errors, &last_error))?;
        }
        Ok(process)
    }

    fn follow(&mut self, name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(work)?;
        self.threads.push(thread);
        Ok(())
    }

    /// The guard, whose descendants are the browser.
    pub(crate) fn id(&self) -> u32 {
        self.guard.id()
    }

    /// The connection to the browser.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The last line that the browser wrote about errors.
    pub(crate) fn last_error(&self) -> Option<String> {
        lock(&self.last_error).clone()
    }

    /// Ends the browser, and waits for that: the guard kills it when its input ends, and removes its profile.
    pub(crate) fn end(&mut self) {
        if self.has_ended {
            return;
        }
        self.has_ended = true;
        self.connection.hang_up();
        self.input.take();
        let has_ended = self.ends_within(END_PATIENCE);
        if !has_ended {
            let _ = self.guard.kill();
        }
        let _ = self.guard.wait();
        for thread in self.threads.drain(..) {
            // A process that survived its guard holds the pipes: the threads that read them end with it.
            if has_ended {
                let _ = thread.join();
            }
        }
    }

    fn ends_within(&self, patience: Duration) -> bool {
        let Ok(process) = pidfd_open(Pid::from_child(&self.guard), PidfdFlags::empty()) else {
            return false;
        };
        let deadline = Deadline::after(patience);
        loop {
            let left = deadline.left();
            let timeout = left.try_into().ok();
            match poll(
                &mut [PollFd::new(&process, PollFlags::IN)],
                timeout.as_ref(),
            ) {
                Err(rustix::io::Errno::INTR) => {}
                Ok(0) | Err(_) => return false,
                Ok(_) => return true,
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// Keeps the last line of a browser's errors.
fn keep_last(errors: ChildStderr, last: &Mutex<Option<String>>) {
    let mut errors = BufReader::new(errors);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = errors
            .by_ref()
            .take(ERROR_LEN_MAX)
            .read_until(b'\n', &mut line);
        if matches!(read, Ok(0) | Err(_)) {
            return;
        }
        let text = String::from_utf8_lossy(&line);
        if !text.trim().is_empty() {
            *lock(last) = Some(text.trim().to_owned());
        }
    }
}
