//! The newspaper: a news site rendered on the server, alone and behind the edge, as its study of 2019 loaded it.

mod cycle;
mod measure;
mod report;
mod smoke;
mod stack;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use clap::{Args, ValueEnum};
use jiff::Zoned;
use plimsoll_harness::machine::facts;
use plimsoll_harness::node;
use plimsoll_harness::packages::{self, Tool};
use plimsoll_harness::release::build;
use signal_hook::consts::TERM_SIGNALS;
use signal_hook::iterator::Signals;

use self::cycle::{Cycle, CycleEntry};
use self::measure::NewspaperMeter;
use self::report::{FACTORS, NewspaperRow};
use self::stack::{NewspaperSettings, NewspaperStack};
use crate::ground::{CaseContext, busy_remark, stop_flag};
use crate::plimsoll_run::LoadLineResult;

#[derive(Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
pub(crate) struct NewspaperArguments {
    /// Short searches and rows
    #[arg(long)]
    quick: bool,
    /// Only one of the two tables
    #[arg(long, value_name = "TABLE")]
    only: Option<NewspaperTable>,
    /// Only start the newspaper and the edge in front of it, print their addresses, and stop them on Ctrl-C
    #[arg(long, conflicts_with_all = ["quick", "smoke", "only"])]
    serve: bool,
    /// Only start everything, request pages below and beyond its load line, and stop
    #[arg(long, conflicts_with_all = ["quick", "only"])]
    smoke: bool,
    /// Rendering processes of the site, in the table and with --serve
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    workers: u8,
    /// Elements per page rendered by the server
    #[arg(long, default_value_t = 670, value_parser = clap::value_parser!(u16).range(50..=5000))]
    nodes: u16,
    /// Use the existing release binary
    #[arg(long)]
    no_build: bool,
    /// Measure on a busy machine too; the page notes it
    #[arg(long)]
    anyway: bool,
    /// Path of the overload table; the table of cycles is written beside it, as NAME-cycles.md
    #[arg(
        long,
        value_name = "FILE",
        default_value = "docs/benchmarks/newspaper.md"
    )]
    out: PathBuf,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum NewspaperTable {
    /// Multiples of the site's load line, behind the edge
    Overload,
    /// Gains of the study's changes
    Cycles,
}

const TOOLS: [Tool; 3] = [
    Tool::new("node", "nodejs"),
    Tool::new("npm", "npm"),
    Tool::new("setpriv", "util-linux"),
];

pub(crate) fn run(arguments: &NewspaperArguments) -> Result<()> {
    packages::see_to(&TOOLS)?;
    let ground = CaseContext::new("newspaper")?;
    node::install(&ground.case.join("site"))?;
    if !arguments.no_build {
        build(&ground.workspace)?;
    }
    if arguments.serve {
        return serve(arguments, &ground);
    }
    let is_stopped = stop_flag()?;
    if arguments.smoke {
        smoke::check(&ground, &is_stopped)?;
        println!("the newspaper works, alone and behind the edge");
        return Ok(());
    }
    measure(arguments, &ground, &is_stopped)
}

impl NewspaperArguments {
    fn settings(&self) -> NewspaperSettings {
        NewspaperSettings {
            workers: self.workers,
            nodes: self.nodes,
        }
    }

    /// Where the ledger goes.
    fn cycles_path(&self) -> PathBuf {
        let mut name = self.out.file_stem().unwrap_or_default().to_owned();
        name.push("-cycles.md");
        self.out.with_file_name(name)
    }

    /// How long each row of the table is loaded.
    fn row_time(&self) -> Duration {
        Duration::from_secs(if self.quick { 15 } else { 60 })
    }
}

/// Runs until a signal requests the end.
fn serve(arguments: &NewspaperArguments, ground: &CaseContext) -> Result<()> {
    let mut signals = Signals::new(TERM_SIGNALS)?;
    let stack = NewspaperStack::start(arguments.settings(), &ground.case)?;
    let edge = stack.edge(&ground.plimsoll(), &ground.case)?;
    println!("the site itself: {}", stack.url());
    println!("behind the edge: {}", edge.url());
    println!("the edge's page: {}", edge.admin_url());
    println!("feed for --urls: {}", stack.feed().display());
    println!("logs: {}; end it with Ctrl-C", stack.folder().display());
    signals.forever().next();
    Ok(())
}

/// The table of overload and the ledger of cycles, for the terminal and the page.
fn measure(
    arguments: &NewspaperArguments,
    ground: &CaseContext,
    is_stopped: &AtomicBool,
) -> Result<()> {
    let mut remarks: Vec<String> = busy_remark(arguments.anyway)?.into_iter().collect();
    if arguments.quick {
        remarks.push("Short searches and rows: the intervals are wide.".to_owned());
    }
    let meter = NewspaperMeter {
        plimsoll: ground.plimsoll(),
        out: ground.store.join("runs"),
        is_quick: arguments.quick,
        is_stopped,
    };
    let page = report::NewspaperPage {
        date: &Zoned::now().date().to_string(),
        machine: &facts()?,
        remarks: &remarks,
    };
    if arguments.only != Some(NewspaperTable::Cycles) {
        let (line, rows) = overload(arguments, ground, &meter)?;
        println!("\n{}", report::table(line, &rows));
        let text = page.overload(line, &rows, arguments.settings());
        ground.write(&arguments.out, &text)?;
    }
    if arguments.only != Some(NewspaperTable::Overload) {
        let entries = cycles(ground, &meter)?;
        println!("\n{}", report::cycles_table(&entries));
        ground.write(&arguments.cycles_path(), &page.cycles(&entries))?;
    }
    Ok(())
}

/// The load line of the site alone, and what becomes of multiples of it behind the edge.
fn overload(
    arguments: &NewspaperArguments,
    ground: &CaseContext,
    meter: &NewspaperMeter<'_>,
) -> Result<(f64, Vec<NewspaperRow>)> {
    println!("== the site alone");
    let stack = NewspaperStack::start(arguments.settings(), &ground.case)?;
    let found = meter.line(&stack.url(), &stack, "newspaper-alone")?.found;
    let LoadLineResult::Line { median: line, .. } = found else {
        bail!("the site has no load line, so there are no multiples of it: {found:?}");
    };
    println!("{found:?}");
    let edge = stack.edge(&meter.plimsoll, &ground.case)?;
    let mut rows = Vec::new();
    for study in &FACTORS {
        println!("== {:.2} times that, behind the edge", study.factor());
        let shares = meter.shares(&edge, &stack, line * study.factor(), arguments.row_time())?;
        println!("{shares:?}");
        rows.push(NewspaperRow { study, shares });
    }
    Ok((line, rows))
}

/// The study's cycles that software alone can repeat, one after the other.
fn cycles(ground: &CaseContext, meter: &NewspaperMeter<'_>) -> Result<Vec<CycleEntry>> {
    let cores = u8::try_from(std::thread::available_parallelism()?.get()).unwrap_or(64);
    let mut entries: Vec<CycleEntry> = Vec::new();
    for cycle in Cycle::ALL {
        ensure!(
            !meter.is_stopped.load(Ordering::Relaxed),
            "stopped before the ledger was whole"
        );
        println!("== cycle: {}", cycle.act());
        let stack = NewspaperStack::start(cycle.settings(cores), &ground.case)?;
        let edge = if cycle.has_edge() {
            Some(stack.edge(&meter.plimsoll, &ground.case)?)
        } else {
            None
        };
        let url = edge
            .as_ref()
            .map_or_else(|| stack.url(), stack::NewspaperEdge::url);
        let evaluated = meter.line(&url, &stack, &format!("newspaper-{}", cycle.name()))?;
        println!("{:?}", evaluated.found);
        // What the cycle before it found is why this one acts as it does.
        let diagnosis = entries.last().and_then(|entry| entry.finding.clone());
        entries.push(CycleEntry {
            cycle,
            diagnosis,
            found: evaluated.found,
            finding: evaluated.finding,
        });
    }
    Ok(entries)
}
