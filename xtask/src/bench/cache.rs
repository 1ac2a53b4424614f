//! `cargo xtask bench cache`: our cache beside those of nginx, HAProxy and Varnish: what a page from it costs in time of
//! the processor and in memory, and what becomes of the origin when pages expire, are purged, or cannot be fetched.

mod caches;
mod hit;
mod load;
mod memory;
mod origin;
mod outage;
pub(super) mod process;
mod purge;
mod report;
mod stampede;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};

use self::caches::CachePrograms;
use self::report::CacheReport;
use super::{BenchContext, deliver_page};
use crate::release::build;
use crate::workspace::Workspace;

/// The project's own page.
const PAGE: &str = "docs/benchmarks/cache.md";

#[derive(Args)]
pub(crate) struct CacheArguments {
    /// Alternating rounds
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=50))]
    rounds: u32,
    /// Seconds of each run
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=600))]
    seconds: u32,
    /// Objects that our cache is filled with
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(10_000..=4_000_000))]
    objects: u32,
    /// Measure the release binaries that are there
    #[arg(long)]
    no_build: bool,
    /// Measure on a busy machine too; the page says so
    #[arg(long)]
    anyway: bool,
    /// Measure only this; may be given several times. The page then goes to --out or nowhere
    #[arg(long, value_enum)]
    only: Vec<CacheChapter>,
    /// Where the page goes; a whole one to docs/benchmarks/cache.md
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// What can be measured by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CacheChapter {
    /// CPU per page from the cache
    Hit,
    /// Memory of an object, and pauses while the cache grows
    Memory,
    /// One page that expires each second
    Stampede,
    /// The origin killed
    Outage,
    /// Everything purged
    Purge,
}

pub(super) fn run(arguments: &CacheArguments) -> Result<()> {
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
