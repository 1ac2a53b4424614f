//! The consultation: a participation platform on Rails, alone, behind a cache of whole pages, and behind one of their
//! fragments, as its study of 2020 counted its answers.

mod measure;
mod report;
mod smoke;
mod stack;

use anyhow::Result;
use clap::Args;
use plimsoll_harness::arguments::{CaseArguments, MeasurementArguments};
use plimsoll_harness::machine::two_cores;
use plimsoll_harness::running::RunningServer;
use plimsoll_harness::template::Values;

use self::measure::ConsultMeter;
use self::report::ConsultRow;
use self::stack::{ConsultSetup, ConsultStack, ConsultStores};
use crate::case::{Case, Served};
use crate::database;
use crate::matrix::MatrixCaseArguments;
use crate::tune::{self, TuneCaseArguments, TunedCase};

#[derive(Args)]
pub(crate) struct ConsultArguments {
    #[command(flatten)]
    case: CaseArguments,
    #[command(flatten)]
    matrix: MatrixCaseArguments,
    #[command(flatten)]
    tune: TuneCaseArguments,
    /// Skip the edge that assembles fragments
    #[arg(long)]
    no_fragments: bool,
    /// Worker threads of the application
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=64))]
    threads: u8,
    #[command(flatten)]
    measurement: MeasurementArguments,
}

pub(crate) fn run(arguments: &ConsultArguments) -> Result<()> {
    let case = Case::new("consult")?;
    if let Some(file) = &arguments.matrix.matrix {
        return case.write_matrix(file, &arguments.measurement);
    }
    database::see_to_postgres()?;
    let (load, servers) = two_cores()?;
    case.build(&arguments.measurement)?;
    if arguments.matrix.stack {
        return Case::serve(|| {
            let stores = ConsultStores::start(&case)?;
            let lines = stores.lines(&case);
            Ok((stores, lines))
        });
    }
    if arguments.case.serve {
        return Case::serve(|| serve(arguments, &case, servers));
    }
    case.note_signals()?;
    if arguments.tune.tune {
        return tune(arguments, &case);
    }
    let meter = ConsultMeter {
        case: &case,
        core: load,
        is_quick: arguments.case.quick || arguments.case.smoke,
    };
    if arguments.case.smoke {
        let stack = ConsultStack::start(&case, servers, arguments.threads)?;
        smoke::check(&stack, arguments.ways(), &meter)?;
        println!("the platform works, alone and behind each edge");
        return Ok(());
    }
    measure(arguments, &case, servers, &meter)
}

/// Processes and threads of the platform, found by the program.
fn tune(arguments: &ConsultArguments, case: &Case) -> Result<()> {
    let page = case.tune_page("case consult --tune", &arguments.measurement)?;
    let _stores = ConsultStores::start(case)?;
    let tuned = TunedCase {
        case,
        values: Values::default().with("folder", case.folder.display()),
        files: vec![("visits.yaml", visits(&case.read("walk.yaml")?))],
    };
    let out = case.tune_out(&arguments.measurement);
    tune::measure(&tuned, &arguments.tune.times, page, &out)
}

/// The walk by visitors who come, walk once and leave: a load of these rises through its line in half a minute, one of users, who
/// stay and think, in more than one.
fn visits(walk: &str) -> String {
    let lines = walk.lines().map(|line| match line {
        load if load.starts_with("load:") => "load: { find: { sessions: 1/s..200/s } }".to_owned(),
        line => line.replace("members.csv", "@folder@/members.csv"),
    });
    lines.map(|line| line + "\n").collect()
}

impl ConsultArguments {
    fn ways(&self) -> impl Iterator<Item = ConsultSetup> {
        let no_fragments = self.no_fragments;
        ConsultSetup::ALL
            .into_iter()
            .filter(move |way| !(no_fragments && *way == ConsultSetup::Fragments))
    }
}

fn serve<'a>(
    arguments: &ConsultArguments,
    case: &'a Case,
    core: usize,
) -> Result<Served<(Vec<RunningServer>, ConsultStack<'a>)>> {
    let stack = ConsultStack::start(case, core, arguments.threads)?;
    let mut lines = vec![format!(
        "the platform itself: {}",
        stack.application().url()
    )];
    let mut edges = Vec::new();
    for way in [ConsultSetup::Pages, ConsultSetup::Fragments] {
        let edge = stack.edge(way)?;
        let (url, admin_url) = (edge.url(), edge.admin_url());
        lines.push(format!("{}: {url}, its own page: {admin_url}", way.title()));
        edges.push(edge);
    }
    lines.push("log in as member-000 to member-999, password `town hall`".to_owned());
    lines.push(format!("logs: {}", stack.folder().display()));
    Ok(((edges, stack), lines))
}

/// Every number of users through every way; the table goes to the terminal and the page.
fn measure(
    arguments: &ConsultArguments,
    case: &Case,
    core: usize,
    meter: &ConsultMeter<'_>,
) -> Result<()> {
    let flags = (&arguments.measurement, &arguments.case);
    let mut page = case.page("consult", flags, &Values::default())?;
    let mut rows: Vec<ConsultRow> = meter
        .users()
        .iter()
        .map(|users| ConsultRow::of(*users))
        .collect();
    for way in arguments.ways() {
        // Each way begins with the same rows of the database, and with an empty cache.
        let stack = ConsultStack::start(case, core, arguments.threads)?;
        let edge = match way {
            ConsultSetup::Alone => None,
            _ => Some(stack.edge(way)?),
        };
        let url = edge.as_ref().unwrap_or(stack.application()).url();
        meter.warm(&url)?;
        for row in &mut rows {
            case.go_on()?;
            println!("== {} users, {}", row.users, way.title());
            let shares = meter.shares(&url, row.users)?;
            println!("{shares:?}");
            row.shares.push((way, shares));
        }
    }
    let table = report::table(&rows);
    println!("\n{table}");
    page.table(&table);
    case.write(&arguments.measurement, page)
}

#[cfg(test)]
mod tests {
    use plimsoll_harness::workspace::Workspace;

    use super::*;

    #[test]
    fn visits_are_the_walk_with_another_load() {
        let root = Workspace::find().unwrap();
        let walk = std::fs::read_to_string(root.root().join("cases/consult/walk.yaml")).unwrap();
        let visits = visits(&walk);
        let changed = walk.lines().zip(visits.lines()).filter(|(a, b)| a != b);
        let changed: Vec<&str> = changed.map(|(_, line)| line.trim()).collect();
        assert_eq!(
            changed,
            [
                "member: { csv: @folder@/members.csv, pick: in order }",
                "load: { find: { sessions: 1/s..200/s } }"
            ]
        );
    }
}
