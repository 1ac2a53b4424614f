//! The tutor: the site of a programming course on exam day, with the faults that its study found as switches.

mod injected_fault;
mod named_limit;
mod report;
mod smoke;
mod stack;

use anyhow::{Context as _, Result};
use clap::Args;
use plimsoll_harness::arguments::{CaseArguments, MeasurementArguments};
use plimsoll_harness::node;
use plimsoll_harness::template::Values;

use self::injected_fault::{InjectedFault, TutorComponent};
use self::named_limit::NamedLimits;
use self::report::TutorRow;
use self::stack::{TutorSettings, TutorStack, TutorStores};
use crate::case::Case;
use crate::plimsoll_run::LoadLineResult;
use crate::tune::{self, TuneCaseArguments, TunedCase};
use crate::tune_definition;

#[derive(Args)]
pub(crate) struct TutorArguments {
    /// Measure only this fault beside the healthy stack; with --serve or --smoke, inject it
    #[arg(long, value_enum)]
    fault: Option<InjectedFault>,
    #[command(flatten)]
    case: CaseArguments,
    #[command(flatten)]
    tune: TuneCaseArguments,
    /// Port of HAProxy with --serve [default: a free one]
    #[arg(long, requires = "serve")]
    port: Option<u16>,
    /// Number of web processes
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
    web_processes: u8,
    #[command(flatten)]
    measurement: MeasurementArguments,
}

pub(crate) fn run(arguments: &TutorArguments) -> Result<()> {
    let case = case()?;
    let start = || TutorStack::start(&case, &arguments.settings(arguments.fault));
    if arguments.case.serve {
        return Case::serve(|| {
            let stack = start()?;
            let folder = format!("logs and sockets: {}", stack.folder().display());
            let lines = vec![stack.proxy.url(), folder];
            Ok((stack, lines))
        });
    }
    if arguments.case.smoke {
        smoke::check(&start()?)?;
        println!("the tutor works");
        return Ok(());
    }
    if arguments.tune.tune {
        return tune(arguments, &case);
    }
    measure(arguments, &case)
}

/// Settings of both parts, found by the program.
fn tune(arguments: &TutorArguments, case: &Case) -> Result<()> {
    case.build(&arguments.measurement)?;
    let page = case.tune_page("case tutor --tune", &arguments.measurement)?;
    case.note_signals()?;
    let stores = TutorStores::start(case)?;
    let tuned = TunedCase {
        case,
        values: stores.values(case, tune_definition::processes_max()?)?,
        files: vec![("haproxy.cfg.in", case.read("haproxy.cfg")?)],
    };
    let out = case.tune_out(&arguments.measurement);
    tune::measure(&tuned, &arguments.tune.times, page, &out)
}

/// The tutor, with all that it needs installed.
fn case() -> Result<Case> {
    let case = Case::new("tutor")?;
    node::install(&case.folder.join("site"))?;
    Ok(case)
}

/// Installs the packages of the tutor.
pub(crate) fn prepare() -> Result<()> {
    case().map(drop)
}

/// Starts the healthy tutor, uses each component once through HAProxy, and stops it.
pub(crate) fn smoke() -> Result<()> {
    let settings = TutorSettings {
        fault: None,
        web_processes: 1,
        port: None,
    };
    smoke::check(&TutorStack::start(&case()?, &settings)?)
}

impl TutorArguments {
    fn settings(&self, fault: Option<InjectedFault>) -> TutorSettings {
        TutorSettings {
            fault,
            web_processes: self.web_processes.into(),
            port: self.port,
        }
    }
}

/// One search with each fault and one without; the table goes to the terminal and to the page.
fn measure(arguments: &TutorArguments, case: &Case) -> Result<()> {
    case.build(&arguments.measurement)?;
    let flags = (&arguments.measurement, &arguments.case);
    let mut page = case.page("tutor", flags, &Values::default())?;
    case.note_signals()?;
    let mut rows = Vec::new();
    for (component, fault) in searches(arguments.fault) {
        case.go_on()?;
        rows.push(row(arguments, case, component, fault)?);
    }
    let table = report::table(&rows);
    println!("\n{table}");
    if arguments.fault.is_some() {
        println!("one fault is not the table: the page is left as it is");
        return Ok(());
    }
    page.table(&table);
    case.write(&arguments.measurement, page)
}

/// What is measured: in each part the healthy stack first, then its faults.
fn searches(only: Option<InjectedFault>) -> Vec<(TutorComponent, Option<InjectedFault>)> {
    let mut searches = Vec::new();
    for component in TutorComponent::ALL {
        if only.is_some_and(|only| only.component() != component) {
            continue;
        }
        searches.push((component, None));
        let chosen = InjectedFault::ALL.into_iter().filter(|fault| {
            fault.component() == component && only.is_none_or(|only| only == *fault)
        });
        searches.extend(chosen.map(|fault| (component, Some(fault))));
    }
    searches
}

/// The highest number of users within the objective of the part's plan.
fn row(
    arguments: &TutorArguments,
    case: &Case,
    component: TutorComponent,
    fault: Option<InjectedFault>,
) -> Result<TutorRow> {
    let part = component.name();
    let fault_name = fault.map_or_else(|| "healthy".to_owned(), InjectedFault::name);
    let name = format!("{part}-{fault_name}");
    println!("== {name}");
    let stack = TutorStack::start(case, &arguments.settings(fault))?;
    let plan = case.folder.join(format!("{part}.yaml"));
    let values = Values::default().with("plan", plan.display());
    let values = values.with("url", stack.proxy.url());
    let quick = if arguments.case.quick { "--quick" } else { "" };
    let line = format!("limit @plan@ --target @url@ --watch auto --name tutor-{name} {quick}");
    let report = case.run(None, &line, &values, &[]).with_context(|| name)?;
    let found = LoadLineResult::of(&report, "users")?;
    let named = NamedLimits::of(&report)?;
    println!("{found:?}\n{}", named.first());
    Ok(TutorRow {
        component,
        fault,
        found,
        named,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_healthy_stack_is_measured_first_and_always() {
        assert_eq!(searches(None).len(), 8);
        assert_eq!(searches(None)[0], (TutorComponent::Web, None));
        assert_eq!(
            searches(Some(InjectedFault::OrmQueries)),
            [
                (TutorComponent::Engine, None),
                (TutorComponent::Engine, Some(InjectedFault::OrmQueries))
            ]
        );
    }
}
