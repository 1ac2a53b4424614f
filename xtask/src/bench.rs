//! `cargo xtask bench load`: our generator beside its peers, in alternating runs, each side pinned to a core.
//!
//! CPU per request is user and system time of the client's whole process tree, as the kernel charges it, divided by
//! the requests it says it made. Latency and throughput of this machine mean nothing elsewhere; the ratios do.

mod lateness;
pub(crate) mod paper;
mod scenario;
mod server;
mod stall;
mod tool;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};
use rustix::thread::{CpuSet, sched_getaffinity};

use self::paper::Paper;
use self::tool::Peers;
use crate::step::execute;
use crate::workspace::{Workspace, cargo};

#[derive(Subcommand)]
pub(crate) enum Bench {
    /// The load engine beside wrk, oha, hey and ab, against nginx
    Load(LoadArguments),
}

#[derive(Args)]
pub(crate) struct LoadArguments {
    /// Alternating rounds
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=50))]
    rounds: u32,
    /// Seconds of each run
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(2..=600))]
    seconds: u32,
    /// Measure the release binaries that are there
    #[arg(long)]
    no_build: bool,
    /// Measure on a busy machine too; the page says so
    #[arg(long)]
    anyway: bool,
    /// Measure with the clients that are there; the page names those that are not
    #[arg(long)]
    no_install: bool,
    /// Where the table goes
    #[arg(long, value_name = "FILE", default_value = "docs/benchmarks/load.md")]
    out: PathBuf,
}

/// What every measurement needs to know.
struct Ground {
    peers: Peers,
    client_core: usize,
    server_core: usize,
    rounds: u32,
    seconds: u32,
    anyway: bool,
    /// Where our run files go.
    folder: tempfile::TempDir,
}

pub(crate) fn run(bench: &Bench) -> Result<()> {
    let Bench::Load(arguments) = bench;
    let workspace = Workspace::find()?;
    if !arguments.no_build {
        build(&workspace)?;
    }
    raise_descriptor_limit()?;
    let (client_core, server_core) = two_cores()?;
    let ground = Ground {
        peers: Peers::find(&workspace, !arguments.no_install)?,
        client_core,
        server_core,
        rounds: arguments.rounds,
        seconds: arguments.seconds,
        anyway: arguments.anyway,
        folder: tempfile::tempdir()?,
    };
    let mut paper = Paper::new(&ground)?;
    for scenario in scenario::all() {
        paper.scenario(&scenario, &scenario::run(&ground, &scenario)?);
    }
    paper.lateness(&lateness::run(&ground));
    paper.stall(&stall::run(&ground));
    let path = workspace.root.join(&arguments.out);
    std::fs::write(&path, paper.finish())
        .with_context(|| format!("cannot write {}", path.display()))?;
    println!("wrote {}", path.display());
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
fn two_cores() -> Result<(usize, usize)> {
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
fn cargo_install(name: &str, root: &std::path::Path) -> Result<()> {
    execute(
        Command::new("nice")
            .args(["-n", "5", "cargo", "install", name, "--locked", "--root"])
            .arg(root),
    )
}
