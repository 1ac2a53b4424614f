//! One named step of a task: prints its name, duration and result.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::clock::Stopwatch;

/// Results of the steps of a task.
#[derive(Default)]
pub struct Steps {
    failed: Vec<String>,
}

impl Steps {
    /// Runs one step; a failure is reported and remembered, and the next step runs.
    pub fn run<T>(&mut self, name: &str, work: impl FnOnce() -> Result<T>) -> Option<T> {
        println!("== {name}");
        let stopwatch = Stopwatch::start();
        let outcome = work();
        let seconds = seconds(stopwatch.elapsed());
        match outcome {
            Ok(value) => {
                println!("== {name}: ok ({seconds})");
                Some(value)
            }
            Err(error) => {
                println!("== {name}: FAILED ({seconds}): {error:#}");
                self.failed.push(name.to_owned());
                None
            }
        }
    }

    /// Names of the failed steps, in their order.
    pub fn failed(&self) -> &[String] {
        &self.failed
    }
}

/// Runs a program with our own output; its failure is an error that names the command.
///
/// # Errors
///
/// If it cannot run, or ends without success.
pub fn execute(command: &mut Command) -> Result<()> {
    let line = line(command);
    let status = command
        .status()
        .with_context(|| format!("cannot run {line}"))?;
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    Ok(())
}

/// A command line for messages.
pub fn line(command: &Command) -> String {
    let program = command.get_program().to_string_lossy();
    let name = program.rsplit('/').next().unwrap_or(&program).to_owned();
    let arguments = command
        .get_args()
        .map(|argument| argument.to_string_lossy().into_owned());
    std::iter::once(name)
        .chain(arguments)
        .collect::<Vec<_>>()
        .join(" ")
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}
