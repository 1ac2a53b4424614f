//! Forces every limit that the rules name, for real: real load, real processes, the kernel's own counters.
//!
//! Runs one case after the other, because they share the machine's CPU and counters, and starts itself again as the
//! process whose resource is strained; hence a `main` of its own. Arguments are filters, as in other tests.
#![expect(
    clippy::print_stdout,
    reason = "a test without the usual harness says itself how it went"
)]

mod cases;
mod clock;
mod harness;
mod strain;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|word| word == strain::WORD) {
        strain::run(&arguments[1..]);
        return ExitCode::SUCCESS;
    }
    let is_list = arguments.iter().any(|word| word == "--list");
    let filters: Vec<&String> = arguments
        .iter()
        .filter(|word| !word.starts_with('-'))
        .collect();
    let mut failed = Vec::new();
    for (name, case) in cases::ALL {
        if !filters.is_empty() && !filters.iter().any(|filter| name.contains(filter.as_str())) {
            continue;
        }
        if is_list {
            println!("{name}: test");
        } else if catch_unwind(AssertUnwindSafe(case)).is_ok() {
            println!("test {name} ... ok");
        } else {
            println!("test {name} ... FAILED");
            failed.push(name);
        }
    }
    if failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        println!("failed: {failed:?}");
        ExitCode::FAILURE
    }
}
