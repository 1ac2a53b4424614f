//! Automation of the workspace: `cargo xtask test` is all of CI, `cargo xtask demo` the first thing to try.
//!
//! It runs other programs and reads what they print; nothing of the product is decided here.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task talks to the person who started it"
)]

mod bench;
mod bottlenecks;
mod cache_suite;
mod case;
mod child;
mod clock;
mod demo;
mod fuzz;
mod machine;
mod messages;
mod not_tried;
mod origin;
mod packages;
mod port;
mod prepare;
mod python;
mod reference;
mod release;
mod request;
mod rules;
mod soak;
mod step;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Automation of the Plimsoll workspace
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct XtaskArguments {
    #[command(subcommand)]
    task: XtaskCommand,
}

#[derive(Subcommand)]
enum XtaskCommand {
    /// Everything CI runs; installs what it needs where it may
    Test,
    /// Writes the reference pages and schemas that are made from the code
    Reference,
    /// House rules: crate arrows, file sizes, leftovers, links, secrets
    Tidy,
    /// Measures side by side with peers and writes the table into docs/benchmarks
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Limits planted in real programs: which of them are named, and the table of it
    Bottlenecks(bottlenecks::BottlenecksArguments),
    /// The case studies on real software, with each fault that they found and without
    #[command(subcommand)]
    Case(case::CaseStudy),
    /// Asks our edge, nginx, Varnish and HAProxy what the public suite for HTTP caches asks
    CacheSuite(cache_suite::CacheSuiteArguments),
    /// Every parser against inputs that grow towards what they have not reached yet
    Fuzz(fuzz::FuzzArguments),
    /// Hours: the load line against known laws on real sockets, and memory over time
    Soak(soak::SoakArguments),
    /// Every text that a person may read, with its place: to be read from top to bottom
    Messages {
        /// Only those of files whose path holds this
        #[arg(default_value = "")]
        part: String,
    },
    /// Builds the release binary and runs its demo
    Demo {
        /// Handed on to `plimsoll demo`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
}

fn main() -> ExitCode {
    let outcome = match XtaskArguments::parse().task {
        XtaskCommand::Test => test::run(),
        XtaskCommand::Reference => reference::write().map(|()| ExitCode::SUCCESS),
        XtaskCommand::Tidy => tidy::run().map(|()| ExitCode::SUCCESS),
        XtaskCommand::Bench(bench) => bench::run(&bench).map(|()| ExitCode::SUCCESS),
        XtaskCommand::Case(case) => case::run(&case).map(|()| ExitCode::SUCCESS),
        XtaskCommand::Bottlenecks(arguments) => {
            bottlenecks::run(&arguments).map(|()| ExitCode::SUCCESS)
        }
        XtaskCommand::CacheSuite(arguments) => cache_suite::run(&arguments),
        XtaskCommand::Fuzz(arguments) => fuzz::run(&arguments),
        XtaskCommand::Soak(arguments) => soak::run(&arguments),
        XtaskCommand::Messages { part } => messages::run(&part).map(|()| ExitCode::SUCCESS),
        XtaskCommand::Demo { rest } => demo::run(&rest).map(|never| match never {}),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
