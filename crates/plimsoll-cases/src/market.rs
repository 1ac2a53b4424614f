//! The market: live predictions over WebSockets in three topologies, with blocking and asynchronous stores, and odds
//! broadcast immediately, by a feed, and by the hub.

mod measure;
mod region;
mod report;
mod smoke;
mod stack;

use anyhow::Result;
use clap::Args;
use plimsoll_harness::arguments::{CaseArguments, MeasurementArguments};
use plimsoll_harness::machine::two_cores;
use plimsoll_harness::python;
use plimsoll_harness::step::execute;
use plimsoll_harness::workspace::cargo;

use self::measure::{HoldTime, MarketRow};
use self::stack::{MarketSettings, MarketStack};
use crate::case::{Case, Served};

#[derive(Args)]
pub(crate) struct MarketArguments {
    #[command(flatten)]
    case: CaseArguments,
    #[command(flatten)]
    measurement: MeasurementArguments,
}

pub(crate) fn run(arguments: &MarketArguments) -> Result<()> {
    if arguments.case.smoke {
        return smoke();
    }
    let case = case()?;
    if arguments.case.serve {
        return Case::serve(|| serve(&case));
    }
    measure(arguments, &case)
}

/// The market, with all that it needs installed: its packages as the lock file has them, in an environment of their own.
fn case() -> Result<Case> {
    let case = Case::new("market")?;
    let lock = case.folder.join("site/requirements.txt");
    python::install(&lock, &case.store.join("python"))?;
    Ok(case)
}

/// Installs the packages of the market.
pub(crate) fn prepare() -> Result<()> {
    case().map(drop)
}

/// Starts the smallest whole market, uses each part once, and stops it.
pub(crate) fn smoke() -> Result<()> {
    let mut case = case()?;
    case.programs = case.workspace.target().join("debug");
    // As the tests build it, with the features that only tests ask for: otherwise all dependencies are built again.
    execute(
        cargo()
            .args(["build", "--workspace", "--tests", "--bin", "plimsoll"])
            .args(["--locked", "--quiet"])
            .current_dir(case.workspace.root()),
    )?;
    smoke::check(&case)?;
    println!("the market works");
    Ok(())
}

/// The first way: one place, told by a feed.
fn serve(case: &Case) -> Result<Served<MarketStack<'_>>> {
    let stack = MarketStack::start(case, MarketSettings::all()[1], two_cores()?)?;
    let region = |(port, region): (&u16, region::Region)| {
        format!("{}: ws://127.0.0.1:{port}/live", region.name)
    };
    let lines = stack.client_ports.iter().zip(region::REGIONS).map(region);
    let lines = lines.collect();
    Ok((stack, lines))
}

/// Each way in each topology; the table goes to the terminal and to the page.
fn measure(arguments: &MarketArguments, case: &Case) -> Result<()> {
    case.build(&arguments.measurement)?;
    let length = HoldTime::of(arguments.case.quick);
    let flags = (&arguments.measurement, &arguments.case);
    let page = case.page("market", flags, &length.values())?;
    case.note_signals()?;
    let cores = two_cores()?;
    let mut rows: Vec<MarketRow> = Vec::new();
    for settings in MarketSettings::all() {
        case.go_on()?;
        println!("== {}", settings.title());
        let stack = MarketStack::start(case, settings, cores)?;
        let results = measure::run(&stack, length)?;
        let row = MarketRow { settings, results };
        println!("{}", report::line(&row).join(" | "));
        rows.push(row);
    }
    case.write(&arguments.measurement, report::page(page, &rows))
}
