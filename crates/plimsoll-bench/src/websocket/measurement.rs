//! One run of one client, sampled from outside: memory and CPU of its processes while its WebSockets are open.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::clock::{Stopwatch, pause};
use plimsoll_harness::port::free_ports;
use plimsoll_harness::request::{get, post};
use plimsoll_harness::server::{ChildServer, Recipe, pinned};
use serde_json::Value;
use tempfile::TempDir;

use super::client::{ClientInvocation, WebSocketClient, Work};
use super::install::Installed;
use crate::cache::process;
use crate::context::BenchContext;
use crate::hub::hubs::{run_time, serve};
use crate::hub::order::message;
use crate::page::shown;

/// WebSockets of the run whose memory is taken off.
const FEW: u32 = 100;
/// The longest that a client takes to open them all.
const OPEN_MAX: Duration = Duration::from_mins(2);
const SETTLE: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const MESSAGE_LEN: usize = 200;
/// A client that has less of its core left is not known to have taken everything.
const BUSY_MAX: f64 = 0.97;

/// Cost of a run.
#[derive(Clone, Debug)]
pub(super) struct WebSocketRun {
    /// Handshakes a second, between the twentieth part of them and the last.
    pub(super) handshakes_per_second: f64,
    pub(super) cpu_us_per_handshake: f64,
    /// Of memory, for each WebSocket more than a few.
    pub(super) bytes_per_connection: f64,
    /// For each message received, or sent and answered; 0 where there are none.
    pub(super) cpu_us_per_message: f64,
    pub(super) busy: f64,
    pub(super) command: String,
}

/// The server of the measurement.
pub(super) struct WebSocketOrigin {
    pub(super) port: u16,
    _server: ChildServer,
    _folder: TempDir,
}

impl WebSocketOrigin {
    pub(super) fn start(installed: &Installed, core: usize) -> Result<Self> {
        let (folder, port) = (tempfile::tempdir()?, free_ports(1)?[0]);
        let words = vec![installed.server.display().to_string(), port.to_string()];
        let server = serve(&installed.bun, words, core, &folder, port)?;
        Ok(Self {
            port,
            _server: server,
            _folder: folder,
        })
    }

    /// WebSockets that were opened, and messages heard on them.
    fn counts(&self) -> Result<(u64, u64)> {
        let counts: Value = serde_json::from_str(&get(self.port, "/counts")?.body)?;
        let count = |name: &str| counts[name].as_u64().context("the server tells no counts");
        Ok((count("opened")?, count("heard")?))
    }
}

/// A client whose WebSockets are open.
struct Standing {
    client: ChildServer,
    _folder: TempDir,
    command: String,
    handshakes_per_second: f64,
    cpu_us_per_handshake: f64,
}

impl Standing {
    fn family(&self) -> Result<Vec<u32>> {
        process::family(self.client.id())
    }

    fn memory(&self) -> Result<u64> {
        let held: Option<u64> = self.family()?.into_iter().map(process::memory).sum();
        held.context("a process of the client has ended")
    }
}

pub(super) fn run(
    ground: &BenchContext,
    installed: &Installed,
    client: WebSocketClient,
    work: Work,
) -> Result<WebSocketRun> {
    let memory_of_few = if work == Work::Open {
        let origin = WebSocketOrigin::start(installed, ground.server_core)?;
        let standing = open(ground, installed, &origin, client, (work, FEW))?;
        pause(SETTLE);
        standing.memory()?
    } else {
        0
    };
    let origin = WebSocketOrigin::start(installed, ground.server_core)?;
    let connections = work.connections();
    let standing = open(ground, installed, &origin, client, (work, connections))?;
    pause(SETTLE);
    let grown = standing.memory()?.saturating_sub(memory_of_few);
    let (cpu_us_per_message, busy) = sample(ground, &origin, &standing, work)?;
    ensure!(
        busy < BUSY_MAX,
        "it used {:.0} % of its core: not all is known to have been taken",
        busy * 100.0
    );
    Ok(WebSocketRun {
        handshakes_per_second: standing.handshakes_per_second,
        cpu_us_per_handshake: standing.cpu_us_per_handshake,
        bytes_per_connection: grown as f64 / f64::from(connections - FEW),
        cpu_us_per_message,
        busy,
        command: standing.command,
    })
}

/// Starts the client, and waits until all of its WebSockets are open.
fn open(
    ground: &BenchContext,
    installed: &Installed,
    origin: &WebSocketOrigin,
    client: WebSocketClient,
    (work, connections): (Work, u32),
) -> Result<Standing> {
    let folder = tempfile::tempdir()?;
    let invocation = client.invocation(installed, work, connections, origin.port, folder.path())?;
    let command = command(&invocation, origin.port, folder.path(), &installed.scripts);
    let recipe = Recipe {
        name: "client",
        program: &invocation.program,
        user: None,
        arguments: invocation.arguments,
        environment: invocation.environment,
    };
    let mut client = ChildServer::start(pinned(recipe, ground.client_core), folder.path())?;
    let stopwatch = Stopwatch::start();
    let all = u64::from(connections);
    let mut from = None;
    loop {
        let (opened, _) = origin.counts()?;
        let cpu = run_time(&process::family(client.id())?).unwrap_or_default();
        let now = (opened, stopwatch.elapsed(), cpu);
        if from.is_none() && opened >= all / 20 {
            from = Some(now);
        }
        if opened >= all {
            let (count, at, before) = from.unwrap_or(now);
            let more = (opened - count) as f64;
            return Ok(Standing {
                client,
                _folder: folder,
                command,
                handshakes_per_second: more / now.1.saturating_sub(at).as_secs_f64().max(1e-3),
                cpu_us_per_handshake: now.2.saturating_sub(before).as_secs_f64() * 1e6
                    / more.max(1.0),
            });
        }
        if process::memory(client.id()).is_none() {
            // It has exited; its output has the reason.
            client.wait(POLL_INTERVAL, || false)?;
        }
        ensure!(
            stopwatch.elapsed() <= OPEN_MAX,
            "{opened} of {connections} were open after {} s",
            OPEN_MAX.as_secs()
        );
        pause(POLL_INTERVAL);
    }
}

/// CPU for each message while the client is looked at, and the share of its core.
fn sample(
    ground: &BenchContext,
    origin: &WebSocketOrigin,
    standing: &Standing,
    work: Work,
) -> Result<(f64, f64)> {
    let family = standing.family()?;
    let (before, received) = (run_time(&family)?, origin.counts()?.1);
    let stopwatch = Stopwatch::start();
    let lasting = Duration::from_secs(ground.seconds.into());
    let mut broadcasts = 0;
    while stopwatch.elapsed() < lasting {
        let per_second = work.broadcasts_per_second();
        if per_second > 0 && stopwatch.elapsed() >= Duration::from_secs(1) / per_second * broadcasts
        {
            broadcasts += 1;
            let answer = post(origin.port, "/publish", &message(broadcasts, MESSAGE_LEN))?;
            ensure!(
                answer.status == 200,
                "a broadcast was answered {}",
                answer.status
            );
        }
        pause(POLL_INTERVAL / 4);
    }
    let (opened, received_now) = origin.counts()?;
    let cpu = run_time(&standing.family()?)?.saturating_sub(before);
    let wall = stopwatch.elapsed();
    ensure!(
        opened == u64::from(work.connections()),
        "{opened} WebSockets were opened: some were lost and opened again"
    );
    let messages = match work {
        Work::Open => return Ok((0.0, cpu.as_secs_f64() / wall.as_secs_f64())),
        Work::Receive(_) => u64::from(broadcasts) * u64::from(work.connections()),
        Work::Answer(_) => received_now - received,
    };
    ensure!(messages > 0, "no message came to the server");
    Ok((
        cpu.as_secs_f64() * 1e6 / messages as f64,
        cpu.as_secs_f64() / wall.as_secs_f64(),
    ))
}

/// The command as the paper shows it.
fn command(invocation: &ClientInvocation, port: u16, folder: &Path, scripts: &Path) -> String {
    let mut words = vec![invocation.program.clone()];
    words.extend(invocation.arguments.iter().cloned());
    shown(
        &words,
        &[
            (&format!(":{port}"), ":PORT"),
            (&folder.display().to_string(), "FILLED"),
            (&scripts.display().to_string(), "bench/websocket"),
        ],
    )
}
