//! Our generator beside its peers, in alternating runs, each side pinned to a core.
//!
//! CPU per request is user and system time of the client's whole process tree, as the kernel charges it, divided by
//! the requests made. Latency and throughput of this machine mean nothing elsewhere; the ratios do.

mod cache;
mod edge;
pub(crate) mod hub;
mod journeys;
mod load;
pub(crate) mod machine;
pub(crate) mod page;
mod server;
mod spread;
mod websocket;

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use clap::Subcommand;
use rustix::thread::{CpuSet, sched_getaffinity};

use crate::step::execute;
use crate::workspace::{Workspace, cargo};

#[derive(Subcommand)]
pub(crate) enum Bench {
    /// The load engine beside wrk, oha, hey and ab, against nginx
    Load(load::LoadArguments),
    /// A journey of 500 users beside k6 and Gatling, and beside plain requests, against nginx
    Journeys(journeys::JourneysArguments),
    /// The cache beside those of nginx, HAProxy and Varnish, and what its origin gets
    Cache(cache::CacheArguments),
    /// The edge beside nginx and HAProxy, and under far too many requests
    Edge(edge::EdgeArguments),
    /// The hub beside Bun, nchan and ws, and with readers that stop, reloads and a million channels
    Hub(hub::HubArguments),
    /// WebSockets by our load side beside k6, Artillery and Tsung, against Bun
    Websocket(websocket::WebsocketArguments),
}

/// What every measurement needs to know.
struct Ground {
    client_core: usize,
    server_core: usize,
    rounds: u32,
    seconds: u32,
    anyway: bool,
    /// Where our run files go.
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

impl Ground {
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

/// Writes a page where it was asked for, else to the project's own place if it is `whole`, else to the terminal.
fn hand_over(
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

/// The release binaries of the product and of the origin.
pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    execute(
        cargo()
            .args([
                "build",
                "--release",
                "-p",
                "plimsoll",
                "-p",
                "plimsoll-testkit",
                "--bins",
            ])
            .current_dir(&workspace.root),
    )
}

/// The first two cores we may run on: one for the client, one for the server.
pub(crate) fn two_cores() -> Result<(usize, usize)> {
    let mask = sched_getaffinity(None).context("cannot read the affinity mask")?;
    let mut cores = (0..CpuSet::MAX_CPU).filter(|core| mask.is_set(*core));
    let pair = cores.next().zip(cores.next());
    pair.context("a side-by-side run needs two cores: one for the client, one for the server")
}

/// Ten thousand connections do not fit into the usual soft limit.
pub(crate) fn raise_descriptor_limit() -> Result<()> {
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = limit.maximum;
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit)
        .context("cannot raise the descriptor limit")
}

/// Installs a peer from its registry into a folder of its own.
fn cargo_install(name: &str, root: &Path) -> Result<()> {
    execute(
        Command::new("nice")
            .args(["-n", "5", "cargo", "install", name, "--locked", "--root"])
            .arg(root),
    )
}
