//! Cells of experiments, applied for real: processes, control groups, files, checkouts, settings, and kills at any moment.
//!
//! Starts itself again as the launcher, as the service, as an edge, and as the program that is killed; hence a `main` of
//! its own. Arguments are filters, as in other tests.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test without the usual harness reports by itself how it went, and a service writes output"
)]
#![expect(
    clippy::unwrap_used,
    reason = "these are tests, and the lint sees only functions marked so"
)]

mod cases;
mod fixture;
mod killed;
mod server;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// First argument of the launcher.
const LAUNCH: &str = "launch";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some(LAUNCH) => {
            let error = plimsoll_lab::service::launch();
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
        Some(server::SERVE) => return server::serve(&arguments[1..]),
        Some(server::EDGE) => return server::edge(&arguments[1..]),
        Some(killed::WORD) => return killed::apply(&arguments[1..]),
        _ => {}
    }
    let is_list = arguments.iter().any(|word| word == "--list");
    let filters: Vec<&String> = arguments
        .iter()
        .filter(|word| !word.starts_with('-'))
        .collect();
    let mut failed = Vec::new();
    for (name, case) in cases::all() {
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
