//! Automation of the workspace: `cargo xtask test` is all of CI, `cargo xtask demo` the first thing to try.
//!
//! It runs other programs and reads their output; it contains no product logic.

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
    /// Run everything that CI runs; installs missing packages as root on Debian
    Test,
    /// Write the reference pages and schemas that are generated from the code
    Reference,
    /// Check the project's own rules: crate dependencies, file sizes, leftovers, links, secrets
    Tidy,
    /// Measure side by side with peers and write the table into docs/benchmarks
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Plant limits in real programs, check which of them are found, and write the table
    Bottlenecks(bottlenecks::BottlenecksArguments),
    /// Run the case studies on real software, with and without each fault
    #[command(subcommand)]
    Case(case::CaseStudy),
    /// Run the public test suite for HTTP caches against the edge, nginx, Varnish and HAProxy
    CacheSuite(cache_suite::CacheSuiteArguments),
    /// Fuzz every parser, guided by coverage
    Fuzz(fuzz::FuzzArguments),
    /// Run for hours: the load line against known laws on real sockets, and memory over time
    Soak(soak::SoakArguments),
    /// List every user-visible text with its place
    Messages {
        /// Only files whose path contains this
        #[arg(default_value = "")]
        part: String,
    },
    /// Build the release binary and run its demo
    Demo {
        /// Passed on to `plimsoll demo`
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
