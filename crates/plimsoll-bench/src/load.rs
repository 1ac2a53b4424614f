//! `cargo xtask bench load`: our generator beside its peers, under loads without journeys.

mod lateness;
mod report;
mod scenario;
mod stall;
pub(crate) mod tool;

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use plimsoll_harness::release::build;
use plimsoll_harness::workspace::Workspace;

use self::report::LoadReport;
use self::tool::Peers;
use crate::context::{BenchContext, write};

#[derive(Args)]
pub(crate) struct LoadArguments {
    /// Alternating rounds
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=50))]
    rounds: u32,
    /// Seconds per run
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(2..=600))]
    seconds: u32,
    /// Use the existing release binaries
    #[arg(long)]
    no_build: bool,
    /// Measure on a busy machine too; the page notes it
    #[arg(long)]
    anyway: bool,
    /// Use the installed clients; the page lists the missing ones
    #[arg(long)]
    no_install: bool,
    /// Path of the table
    #[arg(long, value_name = "FILE", default_value = "docs/benchmarks/load.md")]
    out: PathBuf,
}

pub(crate) fn run(arguments: &LoadArguments) -> Result<()> {
    let workspace = Workspace::find()?;
    if !arguments.no_build {
        build(&workspace)?;
    }
    let ground = BenchContext::new(arguments.rounds, arguments.seconds, arguments.anyway)?;
    let peers = Peers::find(&workspace, !arguments.no_install)?;
    let mut paper = LoadReport::new(&ground, &peers)?;
    for scenario in scenario::all() {
        paper.scenario(&scenario, &scenario::run(&ground, &peers, &scenario)?);
    }
    paper.lateness(&lateness::run(&ground, &peers));
    paper.stall(&stall::run(&ground, &peers));
    write(&workspace.root().join(&arguments.out), &paper.finish())
}
