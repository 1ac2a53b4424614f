//! The consultation: a participation platform on Rails, alone, behind a cache of whole pages, and behind one of their
//! fragments, as its study of 2020 counted its answers.

mod measure;
mod report;
mod smoke;
mod stack;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, ensure};
use clap::Args;
use jiff::Zoned;
use plimsoll_harness::machine::{facts, two_cores};
use plimsoll_harness::packages::{self, Tool};
use plimsoll_harness::release::build;
use signal_hook::consts::TERM_SIGNALS;
use signal_hook::iterator::Signals;

use self::measure::ConsultMeter;
use self::report::ConsultRow;
use self::stack::{ConsultSetup, ConsultStack};
use crate::edge::CaseEdge;
use crate::ground::{CaseContext, busy_remark, stop_flag};
use crate::postgres;

#[derive(Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
pub(crate) struct ConsultArguments {
    /// Three numbers of users, each for a few seconds: at most six minutes
    #[arg(long)]
    quick: bool,
    /// Only start the platform and the edges in front of it, print their addresses, and stop them on Ctrl-C
    #[arg(long, conflicts_with_all = ["quick", "smoke"])]
    serve: bool,
    /// Only start everything, walk through it alone and behind each edge, and stop
    #[arg(long, conflicts_with = "quick")]
    smoke: bool,
    /// Skip the edge that assembles fragments
    #[arg(long)]
    no_fragments: bool,
    /// Worker threads of the application
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=64))]
    threads: u8,
    /// Use the existing release binary
    #[arg(long)]
    no_build: bool,
    /// Measure on a busy machine too; the page notes it
    #[arg(long)]
    anyway: bool,
    /// Path of the table
    #[arg(
        long,
        value_name = "FILE",
        default_value = "docs/benchmarks/consult.md"
    )]
    out: PathBuf,
}

// Active Record is in a separate package, without a program and without an unversioned library.
const TOOLS: [Tool; 7] = [
    Tool::new("ruby", "ruby"),
    Tool::new("puma", "puma"),
    Tool::new("rails", "ruby-railties"),
    Tool::new(
        "/usr/share/doc/ruby-activerecord/copyright",
        "ruby-activerecord",
    ),
    Tool::new("/usr/lib/ruby/vendor_ruby/pg.rb", "ruby-pg"),
    Tool::new("taskset", "util-linux"),
    Tool::new("setpriv", "util-linux"),
];

pub(crate) fn run(arguments: &ConsultArguments) -> Result<()> {
    packages::see_to(&TOOLS)?;
    postgres::see_to()?;
    let ground = CaseContext::new("consult")?;
    let (load, servers) = two_cores()?;
    if !arguments.no_build {
        build(&ground.workspace)?;
    }
    if arguments.serve {
        return serve(arguments, &ground, servers);
    }
    let is_stopped = stop_flag()?;
    let meter = ConsultMeter {
        plimsoll: ground.plimsoll(),
        core: load,
        walk: ground.case.join("walk.yaml"),
        out: ground.store.join("runs"),
        is_quick: arguments.quick || arguments.smoke,
        is_stopped: &is_stopped,
    };
    if arguments.smoke {
        let stack = ConsultStack::start(&ground, servers, arguments.threads)?;
        smoke::check(&stack, arguments.ways(), &meter)?;
        println!("the platform works, alone and behind each edge");
        return Ok(());
    }
    measure(arguments, &ground, servers, &meter)
}

impl ConsultArguments {
    fn ways(&self) -> impl Iterator<Item = ConsultSetup> {
        let no_fragments = self.no_fragments;
        ConsultSetup::ALL
            .into_iter()
            .filter(move |way| !(no_fragments && *way == ConsultSetup::Fragments))
    }
}

/// Runs until a signal requests the end.
fn serve(arguments: &ConsultArguments, ground: &CaseContext, core: usize) -> Result<()> {
    let mut signals = Signals::new(TERM_SIGNALS)?;
    let stack = ConsultStack::start(ground, core, arguments.threads)?;
    println!("the platform itself: {}", stack.url());
    let mut edges = Vec::new();
    for way in [ConsultSetup::Pages, ConsultSetup::Fragments] {
        let edge = stack.edge(way)?;
        println!(
            "{}: {}, its own page: {}",
            way.title(),
            edge.url(),
            edge.admin_url()
        );
        edges.push(edge);
    }
    println!("log in as member-000 to member-999, password `town hall`");
    println!("logs: {}; end it with Ctrl-C", stack.folder().display());
    signals.forever().next();
    Ok(())
}

/// Every number of users through every way; the table goes to the terminal and the page.
fn measure(
    arguments: &ConsultArguments,
    ground: &CaseContext,
    core: usize,
    meter: &ConsultMeter<'_>,
) -> Result<()> {
    let mut remarks: Vec<String> = busy_remark(arguments.anyway)?.into_iter().collect();
    if arguments.quick {
        remarks.push("Each number of users was judged for some seconds only.".to_owned());
    }
    let mut rows: Vec<ConsultRow> = meter
        .users()
        .iter()
        .map(|users| ConsultRow::of(*users))
        .collect();
    for way in arguments.ways() {
        // Each way begins with the same rows of the database, and with an empty cache.
        let stack = ConsultStack::start(ground, core, arguments.threads)?;
        let edge = if way == ConsultSetup::Alone {
            None
        } else {
            Some(stack.edge(way)?)
        };
        let url = edge.as_ref().map_or_else(|| stack.url(), CaseEdge::url);
        meter.warm(&url)?;
        for row in &mut rows {
            ensure!(
                !is_set(meter.is_stopped),
                "stopped before the table was whole"
            );
            println!("== {} users, {}", row.users, way.title());
            let shares = meter.shares(&url, row.users)?;
            println!("{shares:?}");
            row.shares.push((way, shares));
        }
    }
    println!("\n{}", report::table(&rows));
    let date = Zoned::now().date().to_string();
    let page = report::page(&rows, &date, &facts()?, &remarks);
    ground.write(&arguments.out, &page)
}

fn is_set(flag: &AtomicBool) -> bool {
    flag.load(std::sync::atomic::Ordering::Relaxed)
}
