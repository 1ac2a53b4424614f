//! `cargo xtask bench journeys`: the same journey of 500 users by k6, by Gatling and by our engine, and our engine's
//! plain requests beside it.

mod client;
pub(crate) mod install;
mod measurement;
mod plan;
mod report;
mod site;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use plimsoll_harness::release::build;
use plimsoll_harness::workspace::Workspace;

use self::client::JourneyClient;
use self::install::Installed;
use self::report::JourneysReport;
use crate::context::{BenchContext, write};

/// The project's own page, written only by a valid measurement.
const PAGE: &str = "docs/benchmarks/journeys.md";

#[derive(Args)]
pub(crate) struct JourneysArguments {
    /// Alternating rounds
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=50))]
    rounds: u32,
    /// Seconds per run
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(4..=600))]
    seconds: u32,
    /// Use the existing release binaries
    #[arg(long)]
    no_build: bool,
    /// Measure on a busy machine too; the page notes it
    #[arg(long)]
    anyway: bool,
    /// Use the installed clients; the page lists the missing ones
    #[arg(long)]
    no_install: bool,
    /// Where the page goes, valid or not; without it, only a valid one is written, to docs/benchmarks/journeys.md
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(arguments: &JourneysArguments) -> Result<()> {
    let workspace = Workspace::find()?;
    if !arguments.no_build {
        build(&workspace)?;
    }
    let file = workspace.root().join("bench/journeys/journey.yaml");
    let written = std::fs::read_to_string(&file)
        .with_context(|| format!("cannot read {}", file.display()))?;
    let installed = Installed::find(&workspace, !arguments.no_install)?;
    let ground = BenchContext::new(arguments.rounds, arguments.seconds, arguments.anyway)?;
    let mut paper = JourneysReport::new(&ground, &installed)?;
    for round in 1..=ground.rounds {
        for client in JourneyClient::ALL {
            println!("round {round} of {}: {}", ground.rounds, client.name());
            let tried = measurement::run(&ground, &installed, &written, client);
            match &tried.run {
                Ok(run) => println!(
                    "  {:.1} µs of CPU per request warm, {:.1} over the whole run, {:.0} requests/s, {} MiB",
                    run.warm_us,
                    run.whole_us,
                    run.requests_per_second,
                    run.rss >> 20
                ),
                Err(error) => println!("  not valid: {error:#}"),
            }
            paper.tried(round, client, tried);
        }
    }
    let is_valid = paper.is_valid();
    let text = paper.finish();
    match (&arguments.out, is_valid) {
        (Some(out), _) => write(&workspace.root().join(out), &text),
        (None, true) => write(&workspace.root().join(PAGE), &text),
        (None, false) => {
            println!("\n{text}\n{PAGE} is left as it was: this measurement is not valid");
            Ok(())
        }
    }
}
