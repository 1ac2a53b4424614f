//! A server as a child process: it is killed when dropped, and by the kernel when its parent dies.

use std::ffi::OsStr;
use std::fs::File;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::clock::{Stopwatch, pause};

/// Interval of readiness checks.
const POLL: Duration = Duration::from_millis(20);

/// Lines of a server's output that are shown when it fails.
const TAIL_LINES: usize = 5;

/// What to start.
pub struct Recipe<'a> {
    /// Name in messages and of the log file.
    pub name: &'a str,
    /// Looked up in the path, with the folders of servers.
    pub program: &'a str,
    /// The user it runs as, when we are root and it refuses to be.
    pub user: Option<&'a str>,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables added to our environment.
    pub environment: Vec<(&'a str, String)>,
}

/// A running server.
pub struct ChildServer {
    name: String,
    child: Child,
    log: PathBuf,
}

impl ChildServer {
    /// Starts it in this folder, where its output goes to `NAME.log`.
    ///
    /// # Errors
    ///
    /// If the log file cannot be created, or `setpriv` cannot run.
    pub fn start(recipe: Recipe<'_>, folder: &Path) -> Result<Self> {
        let log = folder.join(format!("{}.log", recipe.name));
        let output = File::create(&log)?;
        // setpriv sets the parent's death as the last thing before it becomes the server, so no change of user undoes
        // it; the death is that of the thread that starts it, which here is the main one.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]);
        if let Some(user) = recipe.user.filter(|_| is_root()) {
            command.args(["--reuid", user, "--regid", user, "--init-groups"]);
        }
        let child = command
            .arg("--")
            .arg(recipe.program)
            .args(recipe.arguments)
            .envs(recipe.environment)
            // Debian keeps servers where only root's path leads.
            .env("PATH", path_with_servers())
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            // A group of its own, so that what it has started ends with it.
            .process_group(0)
            .spawn()
            .context("cannot run setpriv")?;
        Ok(Self {
            name: recipe.name.to_owned(),
            child,
            log,
        })
    }

    /// Waits until `is_ready` returns true; fails at the deadline, or immediately if the server exits.
    ///
    /// # Errors
    ///
    /// With the end of its output.
    pub fn wait(&mut self, deadline: Duration, is_ready: impl Fn() -> bool) -> Result<()> {
        let stopwatch = Stopwatch::start();
        loop {
            if is_ready() {
                return Ok(());
            }
            self.check()?;
            if stopwatch.elapsed() > deadline {
                bail!(
                    "{} was not ready within {} s: {}",
                    self.name,
                    deadline.as_secs(),
                    self.tail()
                );
            }
            pause(POLL);
        }
    }

    /// Fails if it has ended.
    ///
    /// # Errors
    ///
    /// With the end of its output.
    pub fn check(&mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait()? {
            bail!("{} ended with {status}: {}", self.name, self.tail());
        }
        Ok(())
    }

    /// Its process, which others may have come from.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Requests a graceful shutdown, and waits for it.
    ///
    /// # Errors
    ///
    /// If it cannot be signalled, or does not end before the deadline.
    pub fn finish(&mut self, deadline: Duration) -> Result<()> {
        rustix::process::kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        let stopwatch = Stopwatch::start();
        while self.child.try_wait()?.is_none() {
            if stopwatch.elapsed() > deadline {
                bail!("{} did not end within {} s", self.name, deadline.as_secs());
            }
            pause(POLL);
        }
        Ok(())
    }

    /// The end of what it printed, in one line.
    fn tail(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let last = &lines[lines.len().saturating_sub(TAIL_LINES)..];
        if last.is_empty() {
            return "no output".to_owned();
        }
        last.join(" | ")
    }
}

impl Drop for ChildServer {
    fn drop(&mut self) {
        // Its folder is thrown away next: nothing is worth saving.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}

/// The same on one core, with all that it starts.
pub fn pinned(recipe: Recipe<'_>, core: usize) -> Recipe<'_> {
    let mut arguments = vec!["-c".to_owned(), core.to_string(), recipe.program.to_owned()];
    arguments.extend(recipe.arguments);
    Recipe {
        program: "taskset",
        arguments,
        ..recipe
    }
}

/// Whether this process is root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The search path with the folders of servers.
pub fn path_with_servers() -> std::ffi::OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(OsStr::new(":/usr/sbin:/sbin"));
    path
}

/// Whether a listener exists on this loopback port.
pub fn is_listening(port: u16) -> bool {
    TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], port))).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell<'a>(script: &str) -> Recipe<'a> {
        Recipe {
            name: "shell",
            program: "sh",
            user: None,
            arguments: vec!["-c".to_owned(), script.to_owned()],
            environment: Vec::new(),
        }
    }

    #[test]
    fn ends_with_all_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("child");
        let mut server = ChildServer::start(
            shell("sleep 600 & echo $! >part; mv part child; wait"),
            folder.path(),
        )
        .unwrap();
        server
            .wait(Duration::from_secs(10), || mark.exists())
            .unwrap();
        let child: i32 = std::fs::read_to_string(mark)
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        let stat = PathBuf::from(format!("/proc/{child}/stat"));
        assert!(stat.exists());
        drop(server);
        // Killed, though it may still be a zombie.
        let is_gone = || std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
        let stopwatch = Stopwatch::start();
        while !is_gone() {
            assert!(stopwatch.elapsed() < Duration::from_secs(10));
            std::thread::yield_now();
        }
    }

    #[test]
    fn says_why_a_server_did_not_come_up() {
        let folder = tempfile::tempdir().unwrap();
        let mut server =
            ChildServer::start(shell("echo no port for me; exit 3"), folder.path()).unwrap();
        let error = server
            .wait(Duration::from_secs(10), || false)
            .unwrap_err()
            .to_string();
        assert_eq!(error, "shell ended with exit status: 3: no port for me");
        let mut server = ChildServer::start(shell("sleep 600"), folder.path()).unwrap();
        let error = server.wait(Duration::ZERO, || false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "shell was not ready within 0 s: no output"
        );
    }
}
