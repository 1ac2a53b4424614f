//! `cargo xtask test`: all of CI, in order. Every step runs even if one before it failed.

use std::process::{ExitCode, Stdio};

use anyhow::Result;
use plimsoll_harness::clock::Stopwatch;
use plimsoll_harness::not_tried::NotTried;
use plimsoll_harness::step::{Steps, execute};
use plimsoll_harness::test_output::{TestCounts, run_tests};
use plimsoll_harness::workspace::{Workspace, cargo};

use crate::{forward, prepare, reference, tidy};

/// Tests of one program that run at a time. Most of them wait, for processes and time-outs; those that measure wait until
/// they are alone.
const TEST_THREADS: &str = "8";

/// Runs all steps; prints `N passed, N failed` as the very last line and fails if anything did.
pub(crate) fn run() -> Result<ExitCode> {
    let stopwatch = Stopwatch::start();
    let workspace = Workspace::find()?;
    let mut steps = Steps::default();
    let mut counts = TestCounts::default();
    let not_tried = NotTried::begin(&workspace)?;
    if steps.run("prepare", || prepare::run(&workspace)).is_some() {
        let cargo = |arguments: &[&str]| {
            let mut command = cargo();
            command
                .args(arguments)
                .current_dir(workspace.root())
                .stdin(Stdio::null());
            command
        };
        steps.run("format", || {
            execute(&mut cargo(&["fmt", "--all", "--check"]))
        });
        steps.run("lints", || {
            // `--all-targets` leaves out tests with `test = false`, which other commands run, and `--test` beside it is
            // ignored. By itself the pattern reaches them.
            for targets in [&["--all-targets"][..], &["--test", "*"]] {
                let clippy = [&["clippy", "--workspace"], targets].concat();
                let lints = ["--locked", "--quiet", "--", "-D", "warnings"];
                execute(&mut cargo(&[&clippy[..], &lints].concat()))?;
            }
            Ok(())
        });
        steps.run("tidy", || tidy::check(&workspace));
        let mut tests = cargo(&[
            "test",
            "--workspace",
            "--no-fail-fast",
            "--locked",
            "--quiet",
        ]);
        tests.env("RUST_TEST_THREADS", TEST_THREADS);
        steps.run("tests", || {
            run_tests(not_tried.collect(&mut tests), &mut counts)
        });
        for case in ["tutor", "market"] {
            steps.run(case, || {
                execute(&mut forward::case_command(&workspace, &["smoke", case]))
            });
        }
        steps.run("reference", || reference::check(&workspace));
        steps.run("docs", || {
            execute(
                cargo(&["doc", "--workspace", "--no-deps", "--locked", "--quiet"])
                    .env("RUSTDOCFLAGS", "-D warnings"),
            )
        });
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

/// The last line. A step that failed without a failed test counts as one, so that it never reads `0 failed` then.
fn last_line(failed_steps: &[String], counts: TestCounts) -> String {
    let without_a_test = failed_steps
        .iter()
        .filter(|name| *name != "tests" || counts.failed == 0)
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
