//! Runs named cases one after the other, for test programs with a `main` of their own.

#![expect(
    clippy::print_stdout,
    reason = "a test without the usual harness reports by itself how it went"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// Name and function of a case; it fails by a panic.
pub type Case = (&'static str, fn());

/// Runs the cases whose name contains one of the arguments, or all without any; `--list` prints names, other flags of
/// the usual harness are ignored.
pub fn run(arguments: &[String], cases: impl IntoIterator<Item = Case>) -> ExitCode {
    let is_list = arguments.iter().any(|word| word == "--list");
    let filters: Vec<&String> = arguments
        .iter()
        .filter(|word| !word.starts_with('-'))
        .collect();
    let mut failed = Vec::new();
    for (name, case) in cases {
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
