//! Automation of the workspace: `cargo xtask test` is all of CI, `cargo xtask demo` the first thing to try.
//!
//! It runs other programs and reads their output; it contains no product logic. Measurements and long checks are programs of
//! their own, to which it forwards.

#![expect(
    clippy::print_stdout,
    reason = "a task talks to the person who started it"
)]

mod demo;
mod forward;
mod markdown;
mod messages;
mod prepare;
mod reference;
mod site;
mod test;
mod tidy;
mod tokens;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use plimsoll_harness::exit;

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
    /// Build the documentation as a site in target/site/book, with search, and check its links
    Site,
    /// Check the project's own rules: crate dependencies, file sizes, leftovers, links, secrets
    Tidy,
    /// Measure side by side with peers and write the table into docs/benchmarks
    #[command(disable_help_flag = true, arg = forward::arguments())]
    Bench,
    /// Plant limits in real programs, check which of them are found, and write the table
    #[command(disable_help_flag = true, arg = forward::arguments())]
    Bottlenecks,
    /// Run the case studies on real software, with and without each fault
    #[command(disable_help_flag = true, arg = forward::arguments())]
    Case,
    /// Run the public test suite for HTTP caches against the edge, nginx, Varnish and HAProxy
    #[command(disable_help_flag = true, arg = forward::arguments())]
    CacheSuite,
    /// Fuzz every parser, guided by coverage
    #[command(disable_help_flag = true, arg = forward::arguments())]
    Fuzz,
    /// Run for hours: the load line against known laws on real sockets, and memory over time
    #[command(disable_help_flag = true, arg = forward::arguments())]
    Soak,
    /// Build every package in target/package, and try each in a clean root
    #[command(disable_help_flag = true, arg = forward::arguments())]
    Package,
    /// List every user-visible text with its place
    Messages {
        /// Only files whose path contains this
        #[arg(default_value = "")]
        part: String,
    },
    /// Build the binary, quickly rather than fast, and run its demo
    Demo {
        /// Passed on to `plimsoll demo`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
}

fn main() -> ExitCode {
    exit::code(match XtaskArguments::parse().task {
        XtaskCommand::Test => test::run(),
        XtaskCommand::Reference => reference::write().map(|()| ExitCode::SUCCESS),
        XtaskCommand::Site => site::build().map(|()| ExitCode::SUCCESS),
        XtaskCommand::Tidy => tidy::run().map(|()| ExitCode::SUCCESS),
        XtaskCommand::Bench | XtaskCommand::CacheSuite => {
            forward::run("plimsoll-bench").map(|never| match never {})
        }
        XtaskCommand::Case => forward::run("plimsoll-cases").map(|never| match never {}),
        XtaskCommand::Bottlenecks | XtaskCommand::Fuzz | XtaskCommand::Soak => {
            forward::run("plimsoll-soak").map(|never| match never {})
        }
        XtaskCommand::Package => forward::run("plimsoll-package").map(|never| match never {}),
        XtaskCommand::Messages { part } => messages::run(&part).map(|()| ExitCode::SUCCESS),
        XtaskCommand::Demo { rest } => demo::run(&rest).map(|never| match never {}),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The help and errors of a forwarded task are those of its program.
    #[test]
    fn forwarded_tasks_take_any_arguments() {
        for arguments in [
            &["bench"][..],
            &["bench", "--help"],
            &["bench", "hub", "--only", "fan", "-h"],
            &["bench", "no such comparison"],
        ] {
            let line = ["cargo xtask"].iter().chain(arguments);
            let task = XtaskArguments::try_parse_from(line).map(|arguments| arguments.task);
            assert!(matches!(task, Ok(XtaskCommand::Bench)));
        }
        let line = ["cargo xtask", "cache-suite", "--", "--flag"];
        let task = XtaskArguments::try_parse_from(line).map(|arguments| arguments.task);
        assert!(matches!(task, Ok(XtaskCommand::CacheSuite)));
    }
}
