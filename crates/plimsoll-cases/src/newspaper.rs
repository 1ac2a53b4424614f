//! The newspaper: a news site rendered on the server, alone and behind the edge, as its study of 2019 loaded it.

mod cycles;
mod measure;
mod report;
mod smoke;
mod stack;
mod study;

use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use plimsoll_harness::arguments::{CaseArguments, MeasurementArguments};
use plimsoll_harness::node;
use plimsoll_harness::page::write;
use plimsoll_harness::running::RunningServer;
use plimsoll_harness::template::Values;

use self::measure::NewspaperMeter;
use self::report::NewspaperRow;
use self::stack::{NewspaperSettings, NewspaperStack};
use self::study::Study;
use crate::case::{Case, Served};
use crate::matrix::MatrixCaseArguments;
use crate::tune::{self, TuneCaseArguments, TunedCase};

#[derive(Args)]
pub(crate) struct NewspaperArguments {
    #[command(flatten)]
    case: CaseArguments,
    #[command(flatten)]
    matrix: MatrixCaseArguments,
    #[command(flatten)]
    tune: TuneCaseArguments,
    /// Only one of the two tables
    #[arg(long, value_name = "TABLE", conflicts_with_all = ["serve", "smoke", "stack", "matrix"])]
    only: Option<NewspaperTable>,
    /// Rendering processes of the site, in the table and with --serve
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    workers: u8,
    /// Elements per page rendered by the server
    #[arg(long, default_value_t = 670, value_parser = clap::value_parser!(u16).range(50..=5000))]
    nodes: u16,
    #[command(flatten)]
    measurement: MeasurementArguments,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum NewspaperTable {
    /// Multiples of the site's load line, behind the edge
    Overload,
    /// Gains of the study's changes
    Cycles,
}

pub(crate) fn run(arguments: &NewspaperArguments) -> Result<()> {
    let case = Case::new("newspaper")?;
    if let Some(file) = &arguments.matrix.matrix {
        return case.write_matrix(file, &arguments.measurement);
    }
    node::install(&case.folder.join("site"))?;
    case.build(&arguments.measurement)?;
    if arguments.matrix.stack {
        return Case::serve(|| {
            let articles = stack::articles(&case, arguments.settings())?;
            let lines = vec![
                format!("the articles: {}", articles.url()),
                case.matrix_line(),
            ];
            Ok((articles, lines))
        });
    }
    if arguments.case.serve {
        return Case::serve(|| serve(arguments, &case));
    }
    case.note_signals()?;
    if arguments.tune.tune {
        return tune(arguments, &case);
    }
    if arguments.case.smoke {
        smoke::check(&case)?;
        println!("the newspaper works, alone and behind the edge");
        return Ok(());
    }
    measure(arguments, &case)
}

impl NewspaperArguments {
    fn settings(&self) -> NewspaperSettings {
        NewspaperSettings {
            core: None,
            workers: self.workers,
            nodes: self.nodes,
        }
    }

    /// How long each row of the table is loaded.
    fn row_time(&self) -> Duration {
        Duration::from_secs(if self.case.quick { 15 } else { 60 })
    }
}

/// Settings of the site, found by the program.
fn tune(arguments: &NewspaperArguments, case: &Case) -> Result<()> {
    let page = case.tune_page("case newspaper --tune", &arguments.measurement)?;
    let _articles = stack::articles(case, arguments.settings())?;
    let tuned = TunedCase {
        case,
        values: Values::default(),
        files: Vec::new(),
    };
    let out = case.tune_out(&arguments.measurement);
    tune::measure(&tuned, &arguments.tune.times, page, &out)
}

fn serve<'a>(
    arguments: &NewspaperArguments,
    case: &'a Case,
) -> Result<Served<(RunningServer, NewspaperStack<'a>)>> {
    let stack = NewspaperStack::start(case, arguments.settings())?;
    let edge = stack.edge()?;
    let lines = vec![
        format!("the site itself: {}", stack.site().url()),
        format!("behind the edge: {}", edge.url()),
        format!("the edge's page: {}", edge.admin_url()),
        format!("feed for --urls: {}", stack.feed().display()),
        format!("logs: {}", stack.folder().display()),
    ];
    Ok(((edge, stack), lines))
}

/// The table of overload and the ledger of cycles, for the terminal and the page.
fn measure(arguments: &NewspaperArguments, case: &Case) -> Result<()> {
    let meter = NewspaperMeter {
        case,
        is_quick: arguments.case.quick,
    };
    let flags = (&arguments.measurement, &arguments.case);
    let out = case.out(&arguments.measurement);
    // Both now: after the first table the machine is not quiet for a while.
    let mut overload_page = case.page("overload", flags, &arguments.settings().values())?;
    let mut cycles_page = case.page("cycles", flags, &Values::default())?;
    if arguments.only != Some(NewspaperTable::Cycles) {
        let (line, rows) = overload(arguments, &meter)?;
        let alone = format!("The site alone carries {line:.0} req/s.");
        let table = report::table(&rows);
        println!("\n{alone}\n\n{table}");
        overload_page.paragraph(&alone);
        overload_page.table(&table);
        write(&case.workspace, &out, &overload_page.finish())?;
    }
    if arguments.only != Some(NewspaperTable::Overload) {
        let table = cycles::measure(&meter)?;
        println!("\n{table}");
        cycles_page.table(&table);
        let out = case.out_beside(&arguments.measurement, "cycles");
        write(&case.workspace, &out, &cycles_page.finish())?;
    }
    Ok(())
}

/// The load line of the site alone, and what becomes of multiples of it behind the edge.
fn overload(
    arguments: &NewspaperArguments,
    meter: &NewspaperMeter<'_>,
) -> Result<(f64, Vec<NewspaperRow>)> {
    println!("== the site alone");
    let stack = NewspaperStack::start(meter.case, arguments.settings())?;
    let found = meter.line(&stack.site().url(), &stack, "newspaper-alone", &[])?;
    let line = found.median().with_context(|| {
        format!("the site has no load line, so there are no multiples of it: {found:?}")
    })?;
    println!("{found:?}");
    let edge = stack.edge()?;
    let mut rows = Vec::new();
    for study in Study::read(meter.case.workspace.root())?.loads {
        println!("== {:.2} times that, behind the edge", study.factor());
        let shares = meter.shares(&edge, &stack, line * study.factor(), arguments.row_time())?;
        println!("{shares:?}");
        rows.push(NewspaperRow { study, shares });
    }
    Ok((line, rows))
}
