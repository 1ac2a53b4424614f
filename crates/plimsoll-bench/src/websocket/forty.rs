//! As many WebSockets as two processes of our load generator can hold, to two servers.

use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::child::pinned;
use plimsoll_harness::clock::{Stopwatch, pause};
use serde_json::Value;

use super::install::Installed;
use super::measurement::WebSocketOrigin;
use crate::cache::process;
use crate::context::BenchContext;

/// Of each process: with what else it has open they fit into 20,000 descriptors.
pub(super) const EACH: u32 = 19_500;
const CONNECTS_PER_S: u32 = 4_000;
const HOLD_S: u32 = 8;

pub(super) struct FortyResult {
    pub(super) connected: u64,
    pub(super) failed: u64,
    pub(super) closed: u64,
    /// Of memory that no file backs, of both processes together, for each WebSocket.
    pub(super) bytes_per_connection: f64,
}

/// A child that does not outlive the measurement.
struct Half(Child);

impl Drop for Half {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(super) fn run(ground: &BenchContext, installed: &Installed) -> Result<FortyResult> {
    println!("two processes with {EACH} WebSockets each");
    let mut halves = Vec::new();
    let mut origins = Vec::new();
    for number in 0..2 {
        let origin = WebSocketOrigin::start(installed, ground.server_core)?;
        let out = ground.folder.path().join(format!("half-{number}"));
        std::fs::create_dir(&out)?;
        let line = format!(
            "{} run ws://127.0.0.1:{}/live --ws --connections {EACH} --connect-rate {CONNECTS_PER_S}/s --hold {HOLD_S}s \
             --cores 1 --json",
            installed.plimsoll.display(),
            origin.port
        );
        let words: Vec<String> = line.split(' ').map(ToOwned::to_owned).collect();
        let mut command: Command = pinned(ground.client_core, &words);
        let child = command
            .current_dir(&out)
            .stdin(Stdio::null())
            .stdout(File::create(out.join("told"))?)
            .stderr(File::create(out.join("log"))?)
            .spawn()
            .context("cannot run plimsoll")?;
        halves.push(Half(child));
        origins.push(origin);
    }
    let stopwatch = Stopwatch::start();
    let wait_s = f64::from(EACH) / f64::from(CONNECTS_PER_S) + f64::from(HOLD_S) / 2.0;
    pause(Duration::from_secs_f64(wait_s));
    let held: Option<u64> = halves.iter().map(|half| process::memory(half.0.id())).sum();
    let held = held.context("a process has ended early")?;
    for half in &mut halves {
        while half.0.try_wait()?.is_none() {
            ensure!(
                stopwatch.elapsed() < Duration::from_mins(2),
                "a process does not end"
            );
            pause(Duration::from_millis(50));
        }
    }
    let mut result = FortyResult {
        connected: 0,
        failed: 0,
        closed: 0,
        bytes_per_connection: held as f64 / f64::from(2 * EACH),
    };
    for number in 0..2 {
        let path = ground.folder.path().join(format!("half-{number}/told"));
        let report: Value = serde_json::from_str(&std::fs::read_to_string(path)?)
            .context("a process printed no JSON")?;
        let count = |name: &str| {
            report["websocket"][name]
                .as_u64()
                .with_context(|| format!("no {name} is reported"))
        };
        result.connected += count("connected")?;
        result.failed += count("failed")?;
        result.closed += count("closed")?;
    }
    Ok(result)
}
