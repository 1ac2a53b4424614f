//! Automation of the workspace: `cargo xtask test` is all of CI, `cargo xtask demo` the first thing to try.
//!
//! It runs other programs and reads what they print; nothing of the product is decided here.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task talks to the person who started it"
)]

mod clock;
mod demo;
mod prepare;
mod step;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Automation of the Plimsoll workspace
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Everything CI runs; installs what it needs where it may
    Test,
    /// House rules: crate arrows, file sizes, leftovers, links, secrets
    Tidy,
    /// Builds the release binary and runs its demo
    Demo {
        /// Handed on to `plimsoll demo`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Test => test::run(),
        Task::Tidy => tidy::run().map(|()| ExitCode::SUCCESS),
        Task::Demo { rest } => demo::run(&rest).map(|never| match never {}),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
