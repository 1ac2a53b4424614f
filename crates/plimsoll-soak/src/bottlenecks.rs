//! `cargo xtask bottlenecks`: plants limits in real programs, checks that they are found, and writes the table.

use std::process::Command;

use anyhow::Result;
use clap::Args;
use plimsoll_harness::not_tried::NotTried;
use plimsoll_harness::release::build;
use plimsoll_harness::step::execute;
use plimsoll_harness::test_output::{TestCounts, run_tests};
use plimsoll_harness::test_programs;
use plimsoll_harness::workspace::{Workspace, cargo};

/// Path of the table.
const PAGE: &str = "docs/benchmarks/bottlenecks.md";

/// Which limits to plant.
#[derive(Args)]
pub(crate) struct BottlenecksArguments {
    /// Only those whose name contains one of these; the table is not written then
    only: Vec<String>,
}

/// Runs them on release binaries.
pub(crate) fn run(arguments: &BottlenecksArguments) -> Result<()> {
    let workspace = Workspace::find()?;
    test_programs::install()?;
    build(&workspace)?;
    let mut corpus = Command::new(workspace.release("plimsoll-bottlenecks"));
    corpus.arg("--plimsoll").arg(workspace.release("plimsoll"));
    if arguments.only.is_empty() {
        corpus.args(["--table", PAGE]);
    }
    execute(corpus.args(&arguments.only).current_dir(workspace.root()))?;
    if !arguments.only.is_empty() {
        return Ok(());
    }
    // Whole searches with `--confirm`, and the findings about further components: too long for `cargo xtask test`.
    let not_tried = NotTried::begin(&workspace)?;
    let mut counts = TestCounts::default();
    for (package, name) in [("plimsoll-lab", "confirm"), ("plimsoll", "collectors")] {
        let mut command = cargo();
        command
            .args(["test", "--locked", "--package", package, "--test", name])
            .current_dir(workspace.root());
        run_tests(not_tried.collect(&mut command), &mut counts)?;
    }
    let untried = not_tried.read()?;
    print!("{untried}");
    untried.check(counts.passed)
}
