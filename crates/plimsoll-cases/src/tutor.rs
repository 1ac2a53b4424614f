//! The tutor: the site of a programming course on exam day, with the faults that its study found as switches.

mod database;
mod injected_fault;
mod measure;
mod proxy;
mod report;
mod smoke;
mod stack;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use jiff::Zoned;
use plimsoll_harness::machine::facts;
use plimsoll_harness::node;
use plimsoll_harness::packages::{self, Tool};
use plimsoll_harness::release::build;
use signal_hook::consts::TERM_SIGNALS;
use signal_hook::iterator::Signals;

use self::injected_fault::{InjectedFault, TutorComponent};
use self::measure::{TutorSearch, users_carried};
use self::report::TutorRow;
use self::stack::{TutorSettings, TutorStack};
use crate::ground::{CaseContext, busy_remark, stop_flag};

#[derive(Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
pub(crate) struct TutorArguments {
    /// Measure only this fault beside the healthy stack; with --serve or --smoke, inject it
    #[arg(long, value_enum)]
    fault: Option<InjectedFault>,
    /// Quick searches, with wider intervals
    #[arg(long)]
    quick: bool,
    /// Only start the tutor, print its address, and stop it on Ctrl-C
    #[arg(long, conflicts_with_all = ["quick", "smoke"])]
    serve: bool,
    /// Only start everything, use each component once through HAProxy, and stop
    #[arg(long, conflicts_with = "quick")]
    smoke: bool,
    /// Port of HAProxy with --serve [default: a free one]
    #[arg(long, requires = "serve")]
    port: Option<u16>,
    /// Number of web processes
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
    web_processes: u8,
    /// Use the existing release binary
    #[arg(long)]
    no_build: bool,
    /// Measure on a busy machine too; the page notes it
    #[arg(long)]
    anyway: bool,
    /// Path of the table
    #[arg(long, value_name = "FILE", default_value = "docs/benchmarks/tutor.md")]
    out: PathBuf,
}

const TOOLS: [Tool; 8] = [
    Tool::new("haproxy", "haproxy"),
    Tool::new("mariadbd", "mariadb-server"),
    Tool::new("memcached", "memcached"),
    Tool::new("node", "nodejs"),
    Tool::new("npm", "npm"),
    Tool::new("gcc", "gcc"),
    Tool::new("setpriv", "util-linux"),
    Tool::new("prlimit", "util-linux"),
];

pub(crate) fn run(arguments: &TutorArguments) -> Result<()> {
    let ground = ground()?;
    if arguments.serve {
        serve(arguments, &ground)
    } else if arguments.smoke {
        smoke::check(&start(&ground, &arguments.settings(arguments.fault))?)?;
        println!("the tutor works");
        Ok(())
    } else {
        measure(arguments, &ground)
    }
}

/// Where the tutor is, with all that it needs installed.
fn ground() -> Result<CaseContext> {
    packages::see_to(&TOOLS)?;
    let ground = CaseContext::new("tutor")?;
    node::install(&ground.case.join("site"))?;
    Ok(ground)
}

/// Installs the packages of the tutor.
pub(crate) fn prepare() -> Result<()> {
    ground().map(drop)
}

/// Starts the healthy tutor, uses each component once through HAProxy, and stops it.
pub(crate) fn smoke() -> Result<()> {
    let settings = TutorSettings {
        fault: None,
        web_processes: 1,
        port: None,
    };
    smoke::check(&start(&ground()?, &settings)?)
}

fn start(ground: &CaseContext, settings: &TutorSettings) -> Result<TutorStack> {
    TutorStack::start(settings, &ground.case, &ground.store)
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

/// Runs until a signal requests the end.
fn serve(arguments: &TutorArguments, ground: &CaseContext) -> Result<()> {
    let mut signals = Signals::new(TERM_SIGNALS)?;
    let stack = start(ground, &arguments.settings(arguments.fault))?;
    println!("{}", stack.url());
    println!(
        "logs and sockets: {}; end it with Ctrl-C",
        stack.folder().display()
    );
    signals.forever().next();
    Ok(())
}

/// One search with each fault and one without; the table goes to the terminal and to the page.
fn measure(arguments: &TutorArguments, ground: &CaseContext) -> Result<()> {
    if !arguments.no_build {
        build(&ground.workspace)?;
    }
    let mut remarks: Vec<String> = busy_remark(arguments.anyway)?.into_iter().collect();
    if arguments.quick {
        remarks.push("Quick searches: the intervals are wide.".to_owned());
    }
    let is_stopped = stop_flag()?;
    let mut rows = Vec::new();
    for (component, fault) in searches(arguments.fault) {
        ensure!(
            !is_stopped.load(Ordering::Relaxed),
            "stopped before the table was whole"
        );
        rows.push(row(arguments, ground, component, fault, &is_stopped)?);
    }
    println!("\n{}", report::table(&rows));
    if arguments.fault.is_some() {
        println!("one fault is not the table: the page is left as it is");
        return Ok(());
    }
    let date = Zoned::now().date().to_string();
    let page = report::page(&rows, &date, &facts()?, &remarks);
    ground.write(&arguments.out, &page)
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

fn row(
    arguments: &TutorArguments,
    ground: &CaseContext,
    component: TutorComponent,
    fault: Option<InjectedFault>,
    is_stopped: &AtomicBool,
) -> Result<TutorRow> {
    let name = format!(
        "{}-{}",
        component.name(),
        fault.map_or_else(|| "healthy".to_owned(), InjectedFault::name)
    );
    println!("== {name}");
    let stack = start(ground, &arguments.settings(fault))?;
    let search = TutorSearch {
        plimsoll: &ground.plimsoll(),
        plan: &ground.case.join(format!("{}.yaml", component.name())),
        url: &stack.url(),
        out: &ground.store.join("runs"),
        name: &format!("tutor-{name}"),
        is_quick: arguments.quick,
    };
    let found = users_carried(&search, is_stopped).with_context(|| name)?;
    println!("{found:?}");
    Ok(TutorRow {
        component,
        fault,
        found,
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
