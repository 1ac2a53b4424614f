//! Reloads under load: no request may fail, and no WebSocket may be closed.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::child::{POLL, pinned, weigh};
use plimsoll_harness::port::free_port;
use plimsoll_harness::step::execute;
use serde_json::Value;
use tungstenite::{Message, WebSocket};

use super::edges::EdgePrograms;
use crate::context::BenchContext;
use crate::server::{BenchServer, kilobyte};

pub(super) const RELOADS: u32 = 20;
pub(super) const SOCKETS: usize = 1_000;
pub(super) const PER_SECOND: u32 = 5_000;
/// Time from one reload to the next, in which each WebSocket is asked once.
const EVERY: Duration = Duration::from_secs(1);
/// The load lasts so much longer than the reloads.
const MORE_S: u32 = 4;
const PATIENCE: Duration = Duration::from_secs(10);
/// A thread of the echo server keeps next to nothing.
const STACK_LEN: usize = 128 << 10;

/// Results of both.
pub(super) struct Reloaded {
    pub(super) requests: u64,
    /// Without a good answer, whatever the reason.
    pub(super) lost: u64,
    pub(super) reloads: u32,
    /// WebSockets that did not echo, or were closed.
    pub(super) cut: usize,
    /// What the generator called void.
    pub(super) void: Option<String>,
}

pub(super) fn run(ground: &BenchContext, programs: &EdgePrograms) -> Result<Reloaded> {
    println!("reload: {RELOADS} times at {PER_SECOND} requests/s with {SOCKETS} WebSockets");
    let pages = BenchServer::nginx(ground.client_core, &kilobyte())?;
    let echo = echo_server()?;
    let (folder, port, admin) = (tempfile::tempdir()?, free_port()?, free_port()?);
    let file = folder.path().join("edge.yaml");
    let written = |edition: u32| edition_of(port, admin, pages.port(), echo.port(), edition);
    std::fs::write(&file, written(0))?;
    let line = format!(
        "{} edge --config {}",
        programs.plimsoll.display(),
        file.display()
    );
    let words: Vec<String> = line.split(' ').map(ToOwned::to_owned).collect();
    let edge = BenchServer::start(ground.server_core, &words, folder, port)?;
    let mut sockets = (0..SOCKETS)
        .map(|_| socket(port))
        .collect::<Result<Vec<_>>>()?;
    let line = format!(
        "{} run {} --rate {PER_SECOND}/s --for {}s --cores 1 --json",
        programs.plimsoll.display(),
        edge.url(),
        RELOADS + MORE_S
    );
    let words: Vec<String> = line.split(' ').map(ToOwned::to_owned).collect();
    let mut command = pinned(ground.client_core, &words);
    command.current_dir(ground.folder.path());
    let (mut reloads, mut error) = (0, None);
    let weighed = weigh(command, &[6], POLL, |_, elapsed| {
        if error.is_none() && reloads < RELOADS && elapsed >= EVERY * (reloads + 1) {
            reloads += 1;
            error = reload(&programs.plimsoll, &file, admin, &written(reloads)).err();
            sockets.retain_mut(|socket| is_alive(socket, reloads));
        }
    })?;
    if let Some(error) = error {
        return Err(error);
    }
    read_result(&serde_json::from_str(&weighed.stdout)?, reloads, &sockets)
}

fn read_result(json: &Value, reloads: u32, sockets: &[WebSocket<TcpStream>]) -> Result<Reloaded> {
    let outcomes = json["outcomes"]
        .as_object()
        .context("no outcomes are reported")?;
    let count = |name: &str| outcomes.get(name).and_then(Value::as_u64).unwrap_or(0);
    let requests = outcomes.values().filter_map(Value::as_u64).sum();
    Ok(Reloaded {
        requests,
        lost: requests - count("ok"),
        reloads,
        cut: SOCKETS - sockets.len(),
        void: (!json["void"].is_null()).then(|| json["void"].to_string()),
    })
}

/// Each edition differs from the one before in what answers say and in how many may wait.
fn edition_of(port: u16, admin: u16, pages: u16, echo: u16, edition: u32) -> String {
    format!(
        "listen: 127.0.0.1:{port}\nadmin: 127.0.0.1:{admin}\naccess_log: off\ncores: 1\npools:\n  \
         pages: {{ servers: [\"http://127.0.0.1:{pages}\"], max_in_flight: 256, queue: {} }}\n  \
         echo: {{ servers: [\"http://127.0.0.1:{echo}\"], max_in_flight: {} }}\nroutes:\n  \
         - match: {{ path: /echo }}\n    pool: echo\n  \
         - pool: pages\n    answer_headers: {{ X-Edition: \"{edition}\" }}\n",
        1_000 + edition,
        2 * SOCKETS
    )
}

/// Lets the edge read its new configuration and wait until it has.
fn reload(plimsoll: &Path, file: &Path, admin: u16, written: &str) -> Result<()> {
    std::fs::write(file, written)?;
    let admin = format!("127.0.0.1:{admin}");
    execute(Command::new(plimsoll).args(["edge", "reload", "--admin", &admin]))
}

/// Echo server with a thread per client, until the process ends.
fn echo_server() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            // One that cannot be served is missed by the client.
            let _ = std::thread::Builder::new()
                .stack_size(STACK_LEN)
                .spawn(move || serve(stream));
        }
    });
    Ok(address)
}

fn serve(stream: TcpStream) {
    let Ok(mut socket) = tungstenite::accept(stream) else {
        return;
    };
    while let Ok(message) = socket.read() {
        if message.is_text() && socket.send(message).is_err() {
            return;
        }
    }
}

fn socket(port: u16) -> Result<WebSocket<TcpStream>> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let (mut socket, _) = tungstenite::client(format!("ws://127.0.0.1:{port}/echo"), stream)
        .map_err(|error| anyhow::anyhow!("a WebSocket was not opened: {error}"))?;
    ensure!(is_alive(&mut socket, 0), "a WebSocket does not echo");
    Ok(socket)
}

fn is_alive(socket: &mut WebSocket<TcpStream>, edition: u32) -> bool {
    let sent = Message::text(format!("edition {edition}"));
    socket.send(sent.clone()).is_ok() && socket.read().is_ok_and(|received| received == sent)
}
