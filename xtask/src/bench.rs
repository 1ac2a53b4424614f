//! Comparisons with peers, in alternating runs, each side pinned to a core.
//!
//! CPU per request is user and system time of the client's whole process tree, as the kernel charges it, divided by
//! the requests made. Latency and throughput of this machine mean nothing elsewhere; the ratios do.

mod cache;
mod edge;
mod hub;
mod journeys;
mod load;
pub(crate) mod page;
mod server;
mod spread;
mod websocket;

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use clap::Subcommand;

use crate::machine::{raise_descriptor_limit, two_cores};
use crate::step::execute;
use crate::workspace::Workspace;

#[derive(Subcommand)]
pub(crate) enum Bench {
    /// The load engine beside wrk, oha, hey and ab, against nginx
    Load(load::LoadArguments),
    /// A journey of 500 users beside k6, Gatling and plain requests, against nginx
    Journeys(journeys::JourneysArguments),
    /// The cache beside those of nginx, HAProxy and Varnish, and the load on the origin
    Cache(cache::CacheArguments),
    /// The edge beside nginx and HAProxy, and under overload
    Edge(edge::EdgeArguments),
    /// The hub beside Bun, nchan and ws, and with slow subscribers, reloads and a million channels
    Hub(hub::HubArguments),
    /// WebSockets by our load generator beside k6, Artillery and Tsung, against Bun
    Websocket(websocket::WebsocketArguments),
}

/// Context of every measurement.
struct BenchContext {
    client_core: usize,
    server_core: usize,
    rounds: u32,
    seconds: u32,
    anyway: bool,
    /// Folder for run files.
    folder: tempfile::TempDir,
}

pub(crate) fn run(bench: &Bench) -> Result<()> {
    match bench {
        Bench::Load(arguments) => load::run(arguments),
        Bench::Journeys(arguments) => journeys::run(arguments),
        Bench::Cache(arguments) => cache::run(arguments),
        Bench::Edge(arguments) => edge::run(arguments),
        Bench::Hub(arguments) => hub::run(arguments),
        Bench::Websocket(arguments) => websocket::run(arguments),
    }
}

impl BenchContext {
    fn new(rounds: u32, seconds: u32, anyway: bool) -> Result<Self> {
        raise_descriptor_limit()?;
        let (client_core, server_core) = two_cores()?;
        Ok(Self {
            client_core,
            server_core,
            rounds,
            seconds,
            anyway,
            folder: tempfile::tempdir()?,
        })
    }
}

pub(crate) fn write(path: &Path, page: &str) -> Result<()> {
    std::fs::write(path, page).with_context(|| format!("cannot write {}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}

/// Writes a page to `--out`, else to the project's page if it is `whole`, else to the terminal.
fn deliver_page(
    workspace: &Workspace,
    out: Option<&Path>,
    whole: Option<&str>,
    page: &str,
) -> Result<()> {
    if let Some(path) = out.or(whole.map(Path::new)) {
        return write(&workspace.root.join(path), page);
    }
    println!("\n{page}");
    Ok(())
}

/// Installs a peer from its registry into a folder of its own.
fn cargo_install(name: &str, root: &Path) -> Result<()> {
    execute(
        Command::new("nice")
            .args(["-n", "5", "cargo", "install", name, "--locked", "--root"])
            .arg(root),
    )
}
