//! `cargo xtask test`: all of CI, in order. Every step runs even if one before it failed.

mod programs;

use std::process::{Command, ExitCode, Stdio};
use std::thread::ScopedJoinHandle;

use anyhow::{Result, anyhow, bail, ensure};
use plimsoll_harness::clock::Stopwatch;
use plimsoll_harness::not_tried::NotTried;
use plimsoll_harness::step::{Steps, execute};
use plimsoll_harness::test_output::TestCounts;
use plimsoll_harness::workspace::{Workspace, cargo};

use crate::{prepare, reference, tidy};

/// The steps that run tests.
const MEASURE: &str = "tests that measure";
const TEST: &str = "tests";

/// The program of the case studies, whose stacks are prepared and tried.
const CASES: &str = "plimsoll-cases";

/// Runs all steps; prints `N passed, N failed` as the very last line and fails if anything did.
pub(crate) fn run() -> Result<ExitCode> {
    let stopwatch = Stopwatch::start();
    let workspace = Workspace::find()?;
    let mut steps = Steps::default();
    let mut counts = TestCounts::default();
    let not_tried = NotTried::begin(&workspace)?;
    if prepare_and_build(&workspace, &mut steps) {
        steps.run(MEASURE, || {
            programs::measure(&workspace, &not_tried, &mut counts)
        });
        steps.run(TEST, || programs::test(&workspace, &not_tried, &mut counts));
        steps.run("cases and documentation", || {
            try_cases_and_document(&workspace)
        });
        steps.run("reference", || reference::check(&workspace));
    }
    print!("{}", not_tried.read()?);
    println!("took {:.0} s", stopwatch.elapsed().as_secs_f64());
    let failed = steps.failed();
    if !failed.is_empty() {
        println!("failed steps: {}", failed.join(", "));
    }
    println!("{}", last_line(failed, counts));
    Ok(if failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Cargo in the folder of the workspace, without our input.
fn cargo_in(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut command = cargo();
    command
        .args(arguments)
        .current_dir(workspace.root())
        .stdin(Stdio::null());
    command
}

/// Installs what the tests need while the sources are checked and compiled: the one waits for servers and disks, the other
/// for processors. Returns whether the tests can run.
fn prepare_and_build(workspace: &Workspace, steps: &mut Steps) -> bool {
    if steps.run("toolchain", prepare::toolchain).is_none() {
        return false;
    }
    let installed = std::thread::scope(|scope| {
        let installed = scope.spawn(|| prepare::install(workspace));
        check_sources(workspace, steps);
        steps.run("build", || {
            // What `cargo test` builds, and one program more, with the same features of its libraries: `--package` would
            // build them a second time.
            let targets = ["--tests", "--bin", CASES];
            let build = [
                &["build", "--workspace", "--locked", "--quiet"],
                &targets[..],
            ];
            execute(&mut cargo_in(workspace, &build.concat()))
        });
        installed.join()
    });
    let prepared = steps.run("prepare", || {
        installed.map_err(|_| anyhow!("the installation of programs panicked"))??;
        execute(&mut case_command(workspace, &["prepare"]))
    });
    prepared.is_some()
}

fn check_sources(workspace: &Workspace, steps: &mut Steps) {
    steps.run("format", || {
        execute(&mut cargo_in(workspace, &["fmt", "--all", "--check"]))
    });
    steps.run("lints", || {
        // `--all-targets` leaves out tests with `test = false`, which other commands run, and `--test` beside it is
        // ignored. By itself the pattern reaches them.
        for targets in [&["--all-targets"][..], &["--test", "*"]] {
            let clippy = [&["clippy", "--workspace"], targets].concat();
            let lints = ["--locked", "--quiet", "--", "-D", "warnings"];
            execute(&mut cargo_in(workspace, &[&clippy[..], &lints].concat()))?;
        }
        Ok(())
    });
    steps.run("tidy", || tidy::check(workspace));
}

/// Tries the stacks of the case studies, which mostly wait, while the documentation of the code is made.
fn try_cases_and_document(workspace: &Workspace) -> Result<()> {
    let ended = std::thread::scope(|scope| {
        let documented = scope.spawn(|| {
            let doc = ["doc", "--workspace", "--no-deps", "--locked", "--quiet"];
            execute(cargo_in(workspace, &doc).env("RUSTDOCFLAGS", "-D warnings"))
        });
        let tried =
            |case| scope.spawn(move || execute(&mut case_command(workspace, &["smoke", case])));
        [documented, tried("tutor"), tried("market")].map(ScopedJoinHandle::join)
    });
    let failed: Vec<String> = ended
        .into_iter()
        .filter_map(|outcome| outcome.unwrap_or_else(|_| bail!("a thread panicked")).err())
        .map(|error| format!("{error:#}"))
        .collect();
    ensure!(failed.is_empty(), "{}", failed.join("; "));
    Ok(())
}

/// The program that the step `build` has built.
fn case_command(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut command = Command::new(workspace.target().join("debug").join(CASES));
    command
        .args(arguments)
        .current_dir(workspace.root())
        .stdin(Stdio::null());
    command
}

/// The last line. A step that failed without a failed test counts as one, so that it never reads `0 failed` then.
fn last_line(failed_steps: &[String], counts: TestCounts) -> String {
    let without_a_test = failed_steps
        .iter()
        .filter(|name| ![MEASURE, TEST].contains(&name.as_str()) || counts.failed == 0)
        .count();
    let failed = counts.failed + without_a_test as u64;
    format!("{} passed, {failed} failed", counts.passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_step_never_reads_as_none_failed() {
        let line = |failed_steps: &[&str], failed| {
            let names: Vec<_> = failed_steps.iter().map(ToString::to_string).collect();
            last_line(&names, TestCounts { passed: 3, failed })
        };
        assert_eq!(line(&[], 0), "3 passed, 0 failed");
        assert_eq!(line(&["tests"], 2), "3 passed, 2 failed");
        assert_eq!(line(&["tests"], 0), "3 passed, 1 failed");
        assert_eq!(line(&["format", "tests"], 2), "3 passed, 3 failed");
    }
}
