//! Forces every limit that the rules name, for real: real load, real processes, the kernel's own counters.
//!
//! Runs cases one after the other that share the machine's CPU and counters, before them those beside each other that have
//! a network, a cgroup or a limit of their own, and starts itself again as the process whose resource is strained; hence a
//! `main` of its own. Arguments are filters, as in other tests.
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
    plimsoll_testkit::cases::run(&arguments, &cases::BESIDE, &cases::ALONE)
}
