//! `cargo xtask bottlenecks`: plants limits in real programs, checks that they are found, and writes the table.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use clap::Args;
use plimsoll_harness::not_tried::NotTried;
use plimsoll_harness::page::{ReportPage, Table, write};
use plimsoll_harness::release::build;
use plimsoll_harness::step::execute;
use plimsoll_harness::test_output::{TestCounts, run_tests};
use plimsoll_harness::test_programs;
use plimsoll_harness::workspace::{Workspace, cargo};
use serde::Deserialize;

/// Path of the table.
const PAGE: &str = "docs/benchmarks/bottlenecks.md";

/// Which limits to plant.
#[derive(Args)]
pub(crate) struct BottlenecksArguments {
    /// Only those whose name contains one of these; the table is not written then
    only: Vec<String>,
    /// Find them through an agent, from another network namespace; the table is not written then
    #[arg(long)]
    through_agent: bool,
}

/// Runs them on release binaries.
pub(crate) fn run(arguments: &BottlenecksArguments) -> Result<()> {
    let workspace = Workspace::find()?;
    test_programs::install()?;
    build(&workspace)?;
    let mut corpus = Command::new(workspace.release("plimsoll-bottlenecks"));
    corpus
        .arg("--plimsoll")
        .arg(workspace.release("plimsoll"))
        .args(&arguments.only)
        .current_dir(workspace.root());
    if arguments.through_agent {
        return execute(corpus.arg("--through-agent"));
    }
    let results = workspace.target().join("bottlenecks.json");
    if results.exists() {
        std::fs::remove_file(&results)?;
    }
    if arguments.only.is_empty() {
        corpus.arg("--results").arg(&results);
    }
    // It fails after its results, if the machine was disturbed too often: the page then tells so.
    let outcome = execute(&mut corpus);
    if results.exists() {
        let text = std::fs::read_to_string(&results);
        let text = text.with_context(|| format!("cannot read {}", results.display()))?;
        write(
            &workspace,
            Path::new(PAGE),
            &page(&serde_json::from_str(&text)?)?,
        )?;
    }
    outcome?;
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
        run_tests(not_tried.collect(&mut command), &mut counts, |line| {
            println!("{line}");
        })?;
    }
    let untried = not_tried.read()?;
    print!("{untried}");
    untried.check(counts.passed)
}

/// What `plimsoll-bottlenecks` writes.
#[derive(Deserialize)]
struct BottleneckResults {
    summary: String,
    /// Planted, rule, verdict, named first, time.
    rows: Vec<[String; 5]>,
}

fn page(results: &BottleneckResults) -> Result<String> {
    let terms = format!(
        "Each limit is planted in a real program, a run of two loads is made, and what it names first is compared with what \
         was planted. {}.",
        results.summary
    );
    let mut page = ReportPage::new("Planted limits", "bottlenecks", &terms)?;
    let mut table = Table::new(["Planted", "Rule", "Verdict", "Named first", "Time"]);
    results.rows.iter().for_each(|row| table.row(row));
    page.table(&table);
    Ok(page.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_a_row_for_each_limit() {
        let text = r#"{ "summary": "1 of 1", "rows": [["nginx: few", "X1", "right", "X1: full | empty", "9 s"]] }"#;
        let page = page(&serde_json::from_str(text).unwrap()).unwrap();
        assert!(page.contains(" was planted. 1 of 1.\n"), "{page}");
        assert!(
            page.ends_with("| nginx: few | X1 | right | X1: full / empty | 9 s |\n"),
            "{page}"
        );
    }
}
