//! Cells of experiments, applied for real: processes, control groups, files, checkouts, settings, and kills at any moment.
//!
//! Starts itself again as the launcher, as the service, as an edge, and as the program that is killed; hence a `main` of
//! its own, which runs cases beside each other: they wait more than they work. Arguments are filters, as in other tests.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a service writes output"
)]
#![expect(
    clippy::unwrap_used,
    reason = "these are tests, and the lint sees only functions marked so"
)]

mod cases;
mod dead_man;
mod fixture;
mod killed;
mod server;

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
        Some(dead_man::WORD) => return dead_man::watch(&arguments[1..]),
        _ => {}
    }
    let beside = cases::beside();
    let beside = beside.each_ref().map(Vec::as_slice);
    plimsoll_testkit::cases::run(&arguments, &beside, cases::ALONE)
}
