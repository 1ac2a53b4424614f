//! Cases that tests could not try on this machine: collected while they run, listed in the last lines.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::workspace::Workspace;

/// Environment variable with the path of the file, read by the test kit.
const FILE_VARIABLE: &str = "PLIMSOLL_NOT_TRIED";

/// The file into which the tests write.
pub struct NotTried {
    path: PathBuf,
}

/// Reasons by test, in the order of their names.
#[derive(Debug, Default)]
pub struct Untried {
    reasons: BTreeMap<String, Vec<String>>,
}

impl NotTried {
    /// An empty file in the target folder.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn begin(workspace: &Workspace) -> Result<Self> {
        let path = workspace.target().join("not-tried.tsv");
        std::fs::write(&path, "").with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { path })
    }

    /// Sets the variable for a command that runs tests.
    pub fn collect<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env(FILE_VARIABLE, &self.path)
    }

    /// Reads the file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub fn read(&self) -> Result<Untried> {
        let text = std::fs::read_to_string(&self.path)
            .with_context(|| format!("cannot read {}", self.path.display()))?;
        Ok(Untried::parse(&text))
    }
}

impl Untried {
    fn parse(text: &str) -> Self {
        let mut untried = Self::default();
        for line in text.lines() {
            let (name, reason) = line.split_once('\t').unwrap_or((line, ""));
            let reasons = untried.reasons.entry(name.to_owned()).or_default();
            if !reasons.iter().any(|known| known == reason) {
                reasons.push(reason.to_owned());
            }
        }
        untried
    }

    /// Fails if more than a tenth of the tests left something untried: such a result proves little.
    ///
    /// # Errors
    ///
    /// If there are more.
    pub fn check(&self, test_count: u64) -> Result<()> {
        let count = self.reasons.len() as u64;
        if count * 10 > test_count {
            bail!(
                "{count} of {test_count} tests left something untried, more than a tenth: run it again on a quiet machine"
            );
        }
        Ok(())
    }
}

/// A line with their number and a line for each; empty if everything was tried.
impl fmt::Display for Untried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reasons.len() {
            0 => return Ok(()),
            1 => writeln!(f, "NOT TRIED, in part or at all, by 1 test:")?,
            count => writeln!(f, "NOT TRIED, in part or at all, by {count} tests:")?,
        }
        for (name, reasons) in &self.reasons {
            writeln!(f, "  {name}: {}", reasons.join("; "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_named_once_with_their_reasons() {
        let text = "b::slow\tdisturbed\na\tneeds root\nb::slow\tlate\nb::slow\tlate\n";
        let untried = Untried::parse(text);
        let expected = "NOT TRIED, in part or at all, by 2 tests:\n  a: needs root\n  b::slow: disturbed; late\n";
        assert_eq!(untried.to_string(), expected);
        assert_eq!(Untried::parse("").to_string(), "");
    }

    #[test]
    fn more_than_a_tenth_is_too_much() {
        let untried = Untried::parse("a\tx\nb\tx\n");
        untried.check(20).unwrap();
        let error = untried.check(19).unwrap_err().to_string();
        assert!(error.starts_with("2 of 19 tests left"), "{error}");
    }

    /// The test kit is not a dependency of this crate, which all tasks build first; so the shared name is in both.
    #[test]
    fn the_test_kit_reads_the_same_variable() {
        let kit = include_str!("../../plimsoll-testkit/src/not_tried.rs");
        assert!(kit.contains(&format!("\"{FILE_VARIABLE}\"")));
    }
}
