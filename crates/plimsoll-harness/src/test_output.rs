//! Runs tests and sums up what libtest counts.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::step::line;

/// Tests counted in the output of libtest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestCounts {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
}

impl std::ops::AddAssign for TestCounts {
    fn add_assign(&mut self, more: Self) {
        self.passed += more.passed;
        self.failed += more.failed;
    }
}

/// Runs the tests, forwards their output line by line and sums up libtest's counts.
///
/// # Errors
///
/// If a test failed, none ran, or the command failed.
pub fn run_tests(
    command: &mut Command,
    counts: &mut TestCounts,
    mut forward: impl FnMut(&str),
) -> Result<()> {
    let line = line(command);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {line}"))?;
    let output = child.stdout.take().expect("stdout is piped");
    for text in BufReader::new(output).split(b'\n') {
        let text = text.context("cannot read the output of the tests")?;
        let text = String::from_utf8_lossy(&text);
        forward(&text);
        if let Some(more) = result_line(&text) {
            *counts += more;
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

    /// End to end, with a real child process instead of cargo.
    #[test]
    fn adds_up_several_results_and_fails_with_them() {
        let mut counts = TestCounts::default();
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo 'test result: ok. 2 passed; 0 failed;'; echo 'test result: FAILED. 3 passed; 1 failed;'; exit 101"]);
        let mut lines = 0;
        let error = run_tests(&mut shell, &mut counts, |_| lines += 1).unwrap_err();
        assert_eq!(lines, 2);
        assert_eq!(
            counts,
            TestCounts {
                passed: 5,
                failed: 1
            }
        );
        assert_eq!(error.to_string(), "1 of 6 tests failed");
        let error = run_tests(
            Command::new("sh").args(["-c", "exit 101"]),
            &mut TestCounts::default(),
            |_| {},
        )
        .unwrap_err();
        assert!(error.to_string().contains("exit status: 101"), "{error}");
        let mut counts = TestCounts::default();
        let error = run_tests(&mut Command::new("true"), &mut counts, |_| {}).unwrap_err();
        assert_eq!(error.to_string(), "no test ran");
    }
}
