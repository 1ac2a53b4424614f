//! `cargo xtask test`: all of CI, in order. Every step runs even if one before it failed.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::case::{market, tutor};
use crate::clock::Stopwatch;
use crate::not_tried::NotTried;
use crate::step::{Steps, execute, line};
use crate::workspace::{Workspace, cargo};
use crate::{prepare, reference, tidy};

/// Tests counted in the output of libtest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TestCounts {
    pub(crate) passed: u64,
    failed: u64,
}

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
                .current_dir(&workspace.root)
                .stdin(Stdio::null());
            command
        };
        steps.run("format", || {
            execute(&mut cargo(&["fmt", "--all", "--check"]))
        });
        steps.run("lints", || {
            execute(&mut cargo(&[
                "clippy",
                "--workspace",
                "--all-targets",
                // Also tests that other commands run.
                "--test",
                "*",
                "--locked",
                "--quiet",
                "--",
                "-D",
                "warnings",
            ]))
        });
        steps.run("tidy", || tidy::check(&workspace));
        steps.run("tests", || {
            test(
                not_tried.collect(&mut cargo(&[
                    "test",
                    "--workspace",
                    "--no-fail-fast",
                    "--locked",
                    "--quiet",
                ])),
                &mut counts,
            )
        });
        steps.run("tutor", tutor::smoke);
        steps.run("market", market::smoke);
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

/// Runs the tests, forwards their output and sums up libtest's counts.
pub(crate) fn test(command: &mut Command, counts: &mut TestCounts) -> Result<()> {
    let line = line(command);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {line}"))?;
    let output = child.stdout.take().expect("stdout is piped");
    for text in BufReader::new(output).split(b'\n') {
        let text = text.context("cannot read the output of the tests")?;
        let text = String::from_utf8_lossy(&text);
        println!("{text}");
        if let Some(more) = result_line(&text) {
            counts.passed += more.passed;
            counts.failed += more.failed;
        }
    }
    let status = child.wait()?;
    if counts.failed > 0 {
        bail!(
            "{} of {} tests failed",
            counts.failed,
            counts.passed + counts.failed
        );
    }
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    if counts.passed == 0 {
        bail!("no test ran");
    }
    Ok(())
}

/// Reads `test result: ok. 27 passed; 0 failed; …`.
fn result_line(text: &str) -> Option<TestCounts> {
    // In quiet mode the dots of the tests may stand before it on the same line.
    let (_, result) = text.split_once("test result: ")?;
    let (_, result) = result.split_once(". ")?;
    let number = |word: &str| {
        let field = result
            .split(';')
            .find(|field| field.trim().ends_with(word))?;
        field.trim().strip_suffix(word)?.trim().parse().ok()
    };
    Some(TestCounts {
        passed: number("passed")?,
        failed: number("failed")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_libtest_prints() {
        let line = "test result: ok. 27 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.71s";
        assert_eq!(
            result_line(line),
            Some(TestCounts {
                passed: 27,
                failed: 0
            })
        );
        let line = "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        assert_eq!(
            result_line(line),
            Some(TestCounts {
                passed: 1,
                failed: 2
            })
        );
        assert_eq!(result_line("running 3 tests"), None);
        assert_eq!(result_line("test result: unknown"), None);
    }

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

    /// End to end, with a real child process instead of cargo.
    #[test]
    fn adds_up_several_results_and_fails_with_them() {
        let mut counts = TestCounts::default();
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo 'test result: ok. 2 passed; 0 failed;'; echo 'test result: FAILED. 3 passed; 1 failed;'; exit 101"]);
        let error = test(&mut shell, &mut counts).unwrap_err();
        assert_eq!(
            counts,
            TestCounts {
                passed: 5,
                failed: 1
            }
        );
        assert_eq!(error.to_string(), "1 of 6 tests failed");
        let error = test(
            Command::new("sh").args(["-c", "exit 101"]),
            &mut TestCounts::default(),
        )
        .unwrap_err();
        assert!(error.to_string().contains("exit status: 101"), "{error}");
        let error = test(&mut Command::new("true"), &mut TestCounts::default()).unwrap_err();
        assert_eq!(error.to_string(), "no test ran");
    }
}
