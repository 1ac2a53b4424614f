//! `cargo xtask bottlenecks`: plants limits in real programs, has them named, and writes the table.

use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::not_tried::NotTried;
use crate::prepare;
use crate::release::build;
use crate::step::execute;
use crate::test::{TestCounts, test};
use crate::workspace::{Workspace, cargo};

/// Where the table goes.
const PAGE: &str = "docs/benchmarks/bottlenecks.md";

/// Which of them.
#[derive(Args)]
pub(crate) struct BottlenecksArguments {
    /// Only those whose name holds one of these; the table is left as it is then
    only: Vec<String>,
}

/// Runs them on release binaries.
pub(crate) fn run(arguments: &BottlenecksArguments) -> Result<()> {
    let workspace = Workspace::find()?;
    prepare::programs()?;
    build(&workspace)?;
    let mut corpus = Command::new(workspace.release("plimsoll-bottlenecks"));
    corpus.arg("--plimsoll").arg(workspace.release("plimsoll"));
    if arguments.only.is_empty() {
        corpus.args(["--table", PAGE]);
    }
    execute(corpus.args(&arguments.only).current_dir(&workspace.root))?;
    if !arguments.only.is_empty() {
        return Ok(());
    }
    // Whole searches whose limits are relaxed and put back, and the sentences about further parts: too long for
    // `cargo xtask test`.
    let not_tried = NotTried::begin(&workspace)?;
    let mut counts = TestCounts::default();
    for (package, name) in [("plimsoll-lab", "confirm"), ("plimsoll", "collectors")] {
        let mut command = cargo();
        command
            .args(["test", "--locked", "--package", package, "--test", name])
            .current_dir(&workspace.root);
        test(not_tried.collect(&mut command), &mut counts)?;
    }
    let untried = not_tried.read()?;
    print!("{untried}");
    untried.check(counts.passed)
}
