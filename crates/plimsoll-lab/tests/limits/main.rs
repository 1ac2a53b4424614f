//! Forces every limit that the rules name, for real: real load, real processes, the kernel's own counters.
//!
//! Runs one case after the other, because they share the machine's CPU and counters, and starts itself again as the
//! process whose resource is strained; hence a `main` of its own. Arguments are filters, as in other tests.
#![expect(clippy::print_stdout, reason = "a strained process prints its address")]

mod cases;
mod clock;
mod harness;
mod strain;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|word| word == strain::WORD) {
        strain::run(&arguments[1..]);
        return ExitCode::SUCCESS;
    }
    plimsoll_testkit::cases::run(&arguments, cases::ALL)
}
