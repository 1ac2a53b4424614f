//! Servers of a measurement, each in a private folder: mainly nginx.

use std::fmt::Write as _;
use std::fs::File;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use plimsoll_harness::child::{cpu, pinned, resident};
use plimsoll_harness::clock::pause;
use plimsoll_harness::port::free_port;
use rustix::process::{Pid, Signal, kill_process};

/// Looks for the server's port until it gives up.
const START_POLL_COUNT: u32 = 200;
const START_POLL: Duration = Duration::from_millis(25);

/// Answers every request with 1 kB from memory.
pub(crate) fn kilobyte() -> String {
    format!("location / {{ return 200 \"{}\"; }}", "x".repeat(1_024))
}

/// A server that listens on a port of its own; ends when dropped.
pub(crate) struct BenchServer {
    child: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl BenchServer {
    /// nginx with one process and these directives of its one server.
    pub(crate) fn nginx(core: usize, directives: &str) -> Result<Self> {
        let (folder, port) = (tempfile::tempdir()?, free_port()?);
        let server = format!(
            "  server {{\n    listen 127.0.0.1:{port} backlog=4096;\n    {directives}\n  }}\n"
        );
        Self::nginx_with(core, folder, port, &server)
    }

    /// nginx with one process and these directives of its `http` block, which listen on the port.
    pub(crate) fn nginx_with(
        core: usize,
        folder: tempfile::TempDir,
        port: u16,
        http: &str,
    ) -> Result<Self> {
        let path = folder.path().join("nginx.conf");
        std::fs::write(&path, configuration(folder.path(), http))?;
        let words = [
            "nginx".to_owned(),
            "-c".to_owned(),
            path.display().to_string(),
        ];
        Self::start(core, &words, folder, port)
    }

    /// Starts a program that listens on the port; its files are in the folder, its output goes to `out` there.
    pub(crate) fn start(
        core: usize,
        words: &[String],
        folder: tempfile::TempDir,
        port: u16,
    ) -> Result<Self> {
        let name = words.first().map_or("", String::as_str).to_owned();
        let out = File::create(folder.path().join("out"))?;
        let child = pinned(core, words)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(Stdio::inherit())
            .spawn()
            .with_context(|| format!("cannot run {name}"))?;
        let mut server = Self {
            child,
            port,
            _folder: folder,
        };
        for _ in 0..START_POLL_COUNT {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(server);
            }
            if let Some(status) = server.child.try_wait()? {
                bail!("{name} ended with {status}");
            }
            pause(START_POLL);
        }
        bail!("{name} does not listen on port {port}")
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// CPU time of the server so far.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        cpu(self.child.id()).context("the server has ended")
    }

    /// The server's resident set now, in bytes.
    pub(crate) fn resident(&self) -> Result<u64> {
        resident(self.child.id()).context("the server has ended")
    }

    /// Stops the process where it stands, as a frozen server would, or lets it go on.
    pub(crate) fn freeze(&self, frozen: bool) -> Result<()> {
        let signal = if frozen { Signal::STOP } else { Signal::CONT };
        Ok(kill_process(pid(&self.child)?, signal)?)
    }
}

impl Drop for BenchServer {
    fn drop(&mut self) {
        // It has nothing to save, and a frozen process hears no other signal.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One process, as `master_process off` has it: the whole server is one pid.
fn configuration(folder: &Path, http: &str) -> String {
    let folder = folder.display();
    let mut text = format!(
        "daemon off;\nmaster_process off;\nworker_processes 1;\nworker_rlimit_nofile 40000;\n\
         pid {folder}/nginx.pid;\nerror_log stderr error;\n\
         events {{ worker_connections 30000; }}\n\
         http {{\n  access_log off;\n  keepalive_timeout 1h;\n  keepalive_requests 1000000000;\n"
    );
    for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        writeln!(text, "  {kind}_temp_path {folder}/{kind};")
            .expect("a string takes every character");
    }
    writeln!(text, "{http}}}").expect("a string takes every character");
    text
}

fn pid(child: &Child) -> Result<Pid> {
    Pid::from_raw(i32::try_from(child.id())?).context("a child has a process id")
}
