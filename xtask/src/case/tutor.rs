//! The tutor: a programming course's site on the day of its exam, with the faults that its study found as switches.

mod database;
mod fault;
mod measure;
mod paper;
mod proxy;
mod smoke;
mod stack;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use jiff::Zoned;
use signal_hook::consts::TERM_SIGNALS;
use signal_hook::iterator::Signals;

use self::fault::{Fault, Part};
use self::measure::{Search, users_carried};
use self::paper::Row;
use self::stack::{Settings, Stack};
use super::ground::{Ground, busy_remark, wish_to_stop};
use crate::machine::facts;
use crate::packages::{self, Tool};
use crate::release::build;

#[derive(Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
pub(crate) struct TutorArguments {
    /// Only this fault beside the healthy stack; with --serve or --smoke, the stack has it
    #[arg(long, value_enum)]
    fault: Option<Fault>,
    /// Quick searches, with wider intervals
    #[arg(long)]
    quick: bool,
    /// Only start the tutor, print its address, and end it on Ctrl-C
    #[arg(long, conflicts_with_all = ["quick", "smoke"])]
    serve: bool,
    /// Only start everything, use each part once through HAProxy, and stop
    #[arg(long, conflicts_with = "quick")]
    smoke: bool,
    /// Port of HAProxy with --serve [default: a free one]
    #[arg(long, requires = "serve")]
    port: Option<u16>,
    /// Node processes of the web part
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
    web_processes: u8,
    /// Measure the release binary that is there
    #[arg(long)]
    no_build: bool,
    /// Measure on a busy machine too; the page says so
    #[arg(long)]
    anyway: bool,
    /// Where the table goes
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
fn ground() -> Result<Ground> {
    packages::see_to(&TOOLS)?;
    let ground = Ground::new("tutor")?;
    super::install(&ground.case.join("site"))?;
    Ok(ground)
}

/// Installs what the tutor needs.
pub(crate) fn prepare() -> Result<()> {
    ground().map(drop)
}

/// Starts the healthy tutor, uses each part once through HAProxy, and stops it.
pub(crate) fn smoke() -> Result<()> {
    let settings = Settings {
        fault: None,
        web_processes: 1,
        port: None,
    };
    smoke::check(&start(&ground()?, &settings)?)
}

fn start(ground: &Ground, settings: &Settings) -> Result<Stack> {
    Stack::start(settings, &ground.case, &ground.store)
}

impl TutorArguments {
    fn settings(&self, fault: Option<Fault>) -> Settings {
        Settings {
            fault,
            web_processes: self.web_processes.into(),
            port: self.port,
        }
    }
}

/// Runs until somebody asks for the end.
fn serve(arguments: &TutorArguments, ground: &Ground) -> Result<()> {
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
fn measure(arguments: &TutorArguments, ground: &Ground) -> Result<()> {
    if !arguments.no_build {
        build(&ground.workspace)?;
    }
    let mut remarks: Vec<String> = busy_remark(arguments.anyway)?.into_iter().collect();
    if arguments.quick {
        remarks.push("Quick searches: the intervals are wide.".to_owned());
    }
    let is_stopped = wish_to_stop()?;
    let mut rows = Vec::new();
    for (part, fault) in searches(arguments.fault) {
        ensure!(
            !is_stopped.load(Ordering::Relaxed),
            "stopped before the table was whole"
        );
        rows.push(row(arguments, ground, part, fault, &is_stopped)?);
    }
    println!("\n{}", paper::table(&rows));
    if arguments.fault.is_some() {
        println!("one fault is not the table: the page is left as it is");
        return Ok(());
    }
    let date = Zoned::now().date().to_string();
    let page = paper::page(&rows, &date, &facts()?, &remarks);
    ground.write(&arguments.out, &page)
}

/// What is measured: in each part the healthy stack first, then its faults.
fn searches(only: Option<Fault>) -> Vec<(Part, Option<Fault>)> {
    let mut searches = Vec::new();
    for part in Part::ALL {
        if only.is_some_and(|only| only.part() != part) {
            continue;
        }
        searches.push((part, None));
        let chosen = Fault::ALL
            .into_iter()
            .filter(|fault| fault.part() == part && only.is_none_or(|only| only == *fault));
        searches.extend(chosen.map(|fault| (part, Some(fault))));
    }
    searches
}

fn row(
    arguments: &TutorArguments,
    ground: &Ground,
    part: Part,
    fault: Option<Fault>,
    is_stopped: &AtomicBool,
) -> Result<Row> {
    let name = format!(
        "{}-{}",
        part.name(),
        fault.map_or_else(|| "healthy".to_owned(), Fault::name)
    );
    println!("== {name}");
    let stack = start(ground, &arguments.settings(fault))?;
    let search = Search {
        plimsoll: &ground.plimsoll(),
        plan: &ground.case.join(format!("{}.yaml", part.name())),
        url: &stack.url(),
        out: &ground.store.join("runs"),
        name: &format!("tutor-{name}"),
        is_quick: arguments.quick,
    };
    let found = users_carried(&search, is_stopped).with_context(|| name)?;
    println!("{found:?}");
    Ok(Row { part, fault, found })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_healthy_stack_is_measured_first_and_always() {
        assert_eq!(searches(None).len(), 8);
        assert_eq!(searches(None)[0], (Part::Web, None));
        assert_eq!(
            searches(Some(Fault::OrmQueries)),
            [
                (Part::Engine, None),
                (Part::Engine, Some(Fault::OrmQueries))
            ]
        );
    }
}
