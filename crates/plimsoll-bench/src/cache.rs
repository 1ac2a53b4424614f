//! `cargo xtask bench cache`: our cache beside those of nginx, HAProxy and Varnish: CPU time and memory per page, and the
//! load on the origin when pages expire, are purged, or cannot be fetched.

mod caches;
mod hit;
mod load;
mod memory;
mod origin;
mod outage;
pub(crate) mod process;
mod purge;
mod report;
mod stampede;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};
use plimsoll_harness::release::build;
use plimsoll_harness::workspace::Workspace;

use self::caches::CachePrograms;
use self::report::CacheReport;
use crate::context::{BenchContext, deliver_page};

/// The committed page.
const PAGE: &str = "docs/benchmarks/cache.md";

#[derive(Args)]
pub(crate) struct CacheArguments {
    /// Alternating rounds
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=50))]
    rounds: u32,
    /// Seconds per run
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=600))]
    seconds: u32,
    /// Number of objects in our cache
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(10_000..=4_000_000))]
    objects: u32,
    /// Use the existing release binaries
    #[arg(long)]
    no_build: bool,
    /// Measure on a busy machine too; the page notes it
    #[arg(long)]
    anyway: bool,
    /// Measure only this; repeatable. The page is then written to --out only
    #[arg(long, value_enum)]
    only: Vec<CacheChapter>,
    /// Path of the page [default, if complete: docs/benchmarks/cache.md]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Chapters that can be measured separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CacheChapter {
    /// CPU per cached page
    Hit,
    /// Memory per object, and pauses while the cache grows
    Memory,
    /// A page that expires every second
    Stampede,
    /// The origin is killed
    Outage,
    /// Everything is purged
    Purge,
}

pub(crate) fn run(arguments: &CacheArguments) -> Result<()> {
    let workspace = Workspace::find()?;
    if !arguments.no_build {
        build(&workspace)?;
    }
    let programs = CachePrograms::find(&workspace)?;
    let ground = BenchContext::new(arguments.rounds, arguments.seconds, arguments.anyway)?;
    let mut paper = CacheReport::new(&ground, &programs)?;
    let is_wanted = |chapter| arguments.only.is_empty() || arguments.only.contains(&chapter);
    if is_wanted(CacheChapter::Hit) {
        for scenario in &hit::all() {
            paper.hit(scenario, &hit::run(&ground, &programs, scenario)?);
        }
    }
    if is_wanted(CacheChapter::Memory) {
        paper.memory(&memory::run(&ground, &programs, arguments.objects));
    }
    if is_wanted(CacheChapter::Stampede) {
        paper.stampede(&stampede::run(&ground, &programs));
    }
    if is_wanted(CacheChapter::Outage) {
        paper.outage(&outage::run(&ground, &programs));
    }
    if is_wanted(CacheChapter::Purge) {
        paper.purge(&purge::run(&ground, &programs));
    }
    let whole = arguments.only.is_empty().then_some(PAGE);
    deliver_page(&workspace, arguments.out.as_deref(), whole, &paper.finish())
}
