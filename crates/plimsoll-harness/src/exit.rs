//! How a task ends.

use std::process::ExitCode;

use anyhow::Result;

/// The exit code of a task; an error is printed to standard error and is a failure.
pub fn code(outcome: Result<ExitCode>) -> ExitCode {
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
