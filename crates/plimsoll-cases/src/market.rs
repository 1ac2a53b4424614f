//! The market: live predictions over WebSockets in three topologies, with blocking and asynchronous stores, and odds
//! broadcast immediately, by a feed, and by the hub.

mod measure;
mod region;
mod report;
mod smoke;
mod stack;
mod stores;

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use anyhow::{Result, ensure};
use clap::Args;
use jiff::Zoned;
use plimsoll_harness::machine::{facts, two_cores};
use plimsoll_harness::packages::{self, Tool};
use plimsoll_harness::python;
use plimsoll_harness::release::build;
use plimsoll_harness::step::execute;
use plimsoll_harness::workspace::cargo;

use self::measure::{HoldTime, MarketRow};
use self::stack::{MarketSettings, MarketStack};
use crate::ground::{CaseContext, busy_remark, stop_flag};

#[derive(Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
pub(crate) struct MarketArguments {
    /// Use shorter runs
    #[arg(long, conflicts_with = "smoke")]
    quick: bool,
    /// Only start everything, use each component once, and stop
    #[arg(long)]
    smoke: bool,
    /// Use the existing release binaries
    #[arg(long)]
    no_build: bool,
    /// Measure on a busy machine too; the page notes it
    #[arg(long)]
    anyway: bool,
    /// Path of the table
    #[arg(long, value_name = "FILE", default_value = "docs/benchmarks/market.md")]
    out: PathBuf,
}

const TOOLS: [Tool; 5] = [
    Tool::new("mariadbd", "mariadb-server"),
    Tool::new("redis-server", "redis-server"),
    Tool::new("python3", "python3"),
    Tool::new("setpriv", "util-linux"),
    Tool::new("taskset", "util-linux"),
];

pub(crate) fn run(arguments: &MarketArguments) -> Result<()> {
    if arguments.smoke {
        return smoke();
    }
    let ground = ground()?;
    measure(arguments, &ground)
}

/// Where the market is, with all that it needs installed.
fn ground() -> Result<CaseContext> {
    packages::see_to(&TOOLS)?;
    let ground = CaseContext::new("market")?;
    install(&ground)?;
    Ok(ground)
}

/// Installs the packages of the market.
pub(crate) fn prepare() -> Result<()> {
    ground().map(drop)
}

/// Starts the smallest whole market, uses each part once, and stops it.
pub(crate) fn smoke() -> Result<()> {
    let ground = ground()?;
    // As the tests build them, with the features that only tests ask for: otherwise all dependencies are built again.
    execute(
        cargo()
            .args([
                "build",
                "--workspace",
                "--bins",
                "--tests",
                "--locked",
                "--quiet",
            ])
            .current_dir(ground.workspace.root()),
    )?;
    smoke::check(&ground, &ground.workspace.target().join("debug"))?;
    println!("the market works");
    Ok(())
}

/// Installs the packages as the lock file has them into an environment of their own, unless that has been done.
fn install(ground: &CaseContext) -> Result<()> {
    python::install(
        &ground.case.join("site/requirements.txt"),
        &ground.store.join("python"),
    )
}

/// Each way in each topology; the table goes to the terminal and to the page.
fn measure(arguments: &MarketArguments, ground: &CaseContext) -> Result<()> {
    if !arguments.no_build {
        build(&ground.workspace)?;
    }
    let mut remarks: Vec<String> = busy_remark(arguments.anyway)?.into_iter().collect();
    if arguments.quick {
        remarks.push("Quick runs.".to_owned());
    }
    let length = HoldTime::of(arguments.quick);
    let (client_core, server_core) = two_cores()?;
    let is_stopped = stop_flag()?;
    let programs = ground.workspace.target().join("release");
    let mut rows: Vec<MarketRow> = Vec::new();
    for settings in MarketSettings::all() {
        ensure!(
            !is_stopped.load(Ordering::Relaxed),
            "stopped before the table was whole"
        );
        println!("== {}", settings.title());
        let stack = MarketStack::start(ground, &programs, settings, (client_core, server_core))?;
        let results = measure::run(&stack, &programs, client_core, length)?;
        let row = MarketRow { settings, results };
        println!("{}", report::line(&row));
        rows.push(row);
    }
    let date = Zoned::now().date().to_string();
    let page = report::page(&rows, length, &date, &facts()?, &remarks);
    ground.write(&arguments.out, &page)
}
