//! `cargo xtask tidy`: the project's rules that neither the compiler nor clippy checks.
//!
//! A rule is a function of a [`SourceTree`] in memory to violations, so each rule is tested on synthetic files.

mod arrows;
mod attacks;
mod cycles;
mod docs;
mod doctests;
mod foreign_files;
mod leftovers;
mod names;
mod private_words;
mod secrets;
mod sizes;
mod summary;

use std::fmt;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use plimsoll_harness::workspace::Workspace;
use serde_json::Value;

/// Every text file that git would commit, and cargo's metadata of the crates.
pub(crate) struct SourceTree {
    files: Vec<File>,
    /// All committed paths, including binary files, for links.
    paths: Vec<String>,
    metadata: Value,
}

/// One text file; its path is relative to the root, with slashes.
struct File {
    path: String,
    text: String,
}

/// A broken rule, at a place.
#[derive(Debug, PartialEq, Eq)]
struct Violation {
    path: String,
    /// 0 if the violation concerns the whole file.
    line: usize,
    what: String,
    /// A warning does not fail the build.
    is_warning: bool,
}

/// A rule and the name by which ARCHITECTURE.md refers to it.
struct TidyRule {
    name: &'static str,
    violations: fn(&SourceTree) -> Vec<Violation>,
}

const RULES: [TidyRule; 16] = [
    TidyRule {
        name: "arrows",
        violations: arrows::violations,
    },
    TidyRule {
        name: "attacks",
        violations: attacks::violations,
    },
    TidyRule {
        name: "cycles",
        violations: cycles::violations,
    },
    TidyRule {
        name: "doctests",
        violations: doctests::violations,
    },
    TidyRule {
        name: "file-sizes",
        violations: sizes::violations,
    },
    TidyRule {
        name: "foreign-files",
        violations: foreign_files::violations,
    },
    TidyRule {
        name: "leftovers",
        violations: leftovers::leftovers,
    },
    TidyRule {
        name: "ignored-tests",
        violations: leftovers::ignored_tests,
    },
    TidyRule {
        name: "sleeping-tests",
        violations: leftovers::sleeping_tests,
    },
    TidyRule {
        name: "names",
        violations: names::violations,
    },
    TidyRule {
        name: "private-words",
        violations: private_words::violations,
    },
    TidyRule {
        name: "crate-docs",
        violations: docs::crate_docs,
    },
    TidyRule {
        name: "architecture-claims",
        violations: docs::claims,
    },
    TidyRule {
        name: "links",
        violations: docs::links,
    },
    TidyRule {
        name: "site",
        violations: summary::violations,
    },
    TidyRule {
        name: "secrets",
        violations: secrets::violations,
    },
];

/// Runs the task on its own.
pub(crate) fn run() -> Result<()> {
    check(&Workspace::find()?)
}

/// Prints every violation and fails if one is more than a warning.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let tree = SourceTree::read(workspace)?;
    let mut failed = 0;
    for rule in &RULES {
        for violation in (rule.violations)(&tree) {
            println!("{}: {violation}", rule.name);
            failed += usize::from(!violation.is_warning);
        }
    }
    if failed > 0 {
        bail!("{failed} rules violated");
    }
    Ok(())
}

impl SourceTree {
    /// Reads the files of a workspace.
    pub(crate) fn read(workspace: &Workspace) -> Result<Self> {
        let output = Command::new("git")
            .args([
                "ls-files",
                "-z",
                "--cached",
                "--others",
                "--exclude-standard",
            ])
            .current_dir(workspace.root())
            .output()
            .context("cannot run git, which lists the files to check")?;
        ensure!(
            output.status.success(),
            "git ls-files failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let listed = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
        let mut files = Vec::new();
        let mut paths = Vec::new();
        for path in listed.split('\0').filter(|path| !path.is_empty()) {
            // Listed but missing: deleted and not committed yet.
            let Ok(bytes) = std::fs::read(workspace.root().join(path)) else {
                continue;
            };
            paths.push(path.to_owned());
            if let Ok(text) = String::from_utf8(bytes) {
                files.push(File {
                    path: path.to_owned(),
                    text,
                });
            }
        }
        Ok(Self {
            files,
            paths,
            metadata: workspace.metadata().clone(),
        })
    }

    /// The Rust sources: path and text.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&str, &str)> {
        self.rust()
            .map(|file| (file.path.as_str(), file.text.as_str()))
    }

    /// The Rust sources.
    fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.has_extension("rs"))
    }

    #[cfg(test)]
    fn of(files: &[(&str, &str)]) -> Self {
        Self {
            files: files
                .iter()
                .map(|(path, text)| File {
                    path: (*path).to_owned(),
                    text: (*text).to_owned(),
                })
                .collect(),
            paths: files.iter().map(|(path, _)| (*path).to_owned()).collect(),
            metadata: Value::Null,
        }
    }
}

impl File {
    fn has_extension(&self, extension: &str) -> bool {
        self.path
            .rsplit_once('.')
            .is_some_and(|(_, found)| found == extension)
    }

    fn violation(&self, line: usize, what: impl Into<String>) -> Violation {
        Violation {
            path: self.path.clone(),
            line,
            what: what.into(),
            is_warning: false,
        }
    }

    /// Lines with their numbers, from 1.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line))
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        let kind = if self.is_warning { "warning: " } else { "" };
        write!(f, ": {kind}{}", self.what)
    }
}

/// Violations as `path:line`, for the rules' tests.
#[cfg(test)]
fn places(violations: &[Violation]) -> Vec<String> {
    violations
        .iter()
        .map(|violation| format!("{}:{}", violation.path, violation.line))
        .collect()
}
