//! `cargo xtask bench edge`: our edge beside nginx and HAProxy, and its behaviour under overload.

pub(crate) mod client;
mod cost;
pub(crate) mod edges;
mod idle;
mod latency;
mod overload;
mod reload;
mod report;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};
use plimsoll_harness::release::build;
use plimsoll_harness::workspace::Workspace;

use self::edges::EdgePrograms;
use self::report::EdgeReport;
use crate::context::{BenchContext, deliver_page};

/// The committed page.
const PAGE: &str = "docs/benchmarks/edge.md";

#[derive(Args)]
pub(crate) struct EdgeArguments {
    /// Alternating rounds
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=50))]
    rounds: u32,
    /// Seconds per run
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=600))]
    seconds: u32,
    /// Use the existing release binaries
    #[arg(long)]
    no_build: bool,
    /// Measure on a busy machine too; the page notes it
    #[arg(long)]
    anyway: bool,
    /// Measure only this; repeatable. The page is then written to --out only
    #[arg(long, value_enum)]
    only: Vec<EdgeChapter>,
    /// Path of the page [default, if complete: docs/benchmarks/edge.md]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Chapters that can be measured separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum EdgeChapter {
    /// CPU per request passed through, plain
    Pass,
    /// The same with TLS and HTTP/2
    Tls,
    /// CPU per fallback answer
    Fallback,
    /// Memory of idle clients
    Idle,
    /// Latency added at half load
    Latency,
    /// Ten and fifty times the origin's capacity
    Overload,
    /// Twenty reloads under load, with a thousand WebSockets
    Reload,
}

pub(crate) fn run(arguments: &EdgeArguments) -> Result<()> {
    let workspace = Workspace::find()?;
    if !arguments.no_build {
        build(&workspace)?;
    }
    let programs = EdgePrograms::find(&workspace)?;
    let ground = BenchContext::new(arguments.rounds, arguments.seconds, arguments.anyway)?;
    let mut paper = EdgeReport::new(&ground, &programs)?;
    let is_wanted = |chapter| arguments.only.is_empty() || arguments.only.contains(&chapter);
    for scenario in cost::all()
        .iter()
        .filter(|scenario| is_wanted(scenario.chapter))
    {
        paper.cost(scenario, &cost::run(&ground, &programs, scenario)?);
    }
    if is_wanted(EdgeChapter::Idle) {
        paper.idle(&idle::run(&ground, &programs));
    }
    if is_wanted(EdgeChapter::Latency) {
        paper.latency(&latency::run(&ground, &programs)?);
    }
    if is_wanted(EdgeChapter::Overload) {
        paper.overload(&overload::run(&ground, &programs));
    }
    if is_wanted(EdgeChapter::Reload) {
        paper.reload(reload::run(&ground, &programs));
    }
    let whole = arguments.only.is_empty().then_some(PAGE);
    deliver_page(&workspace, arguments.out.as_deref(), whole, &paper.finish())
}
