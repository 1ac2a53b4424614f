//! Checks that take too long for `cargo xtask test`: `cargo xtask soak` compares the load line with known laws for hours,
//! `cargo xtask bottlenecks` plants limits in real programs, and `cargo xtask fuzz` fuzzes every parser.

#![expect(
    clippy::print_stdout,
    reason = "a task talks to the person who started it"
)]

mod bottlenecks;
mod fuzz;
mod soak;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use plimsoll_harness::exit;

/// Checks that take long
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct LongCheckArguments {
    #[command(subcommand)]
    task: LongCheck,
}

#[derive(Subcommand)]
enum LongCheck {
    /// Plant limits in real programs, check which of them are found, and write the table
    Bottlenecks(bottlenecks::BottlenecksArguments),
    /// Fuzz every parser, guided by coverage
    Fuzz(fuzz::FuzzArguments),
    /// Run for hours: the load line against known laws on real sockets, and memory over time
    Soak(soak::SoakArguments),
}

fn main() -> ExitCode {
    exit::code(match LongCheckArguments::parse().task {
        LongCheck::Bottlenecks(arguments) => {
            bottlenecks::run(&arguments).map(|()| ExitCode::SUCCESS)
        }
        LongCheck::Fuzz(arguments) => fuzz::run(&arguments),
        LongCheck::Soak(arguments) => soak::run(&arguments),
    })
}
