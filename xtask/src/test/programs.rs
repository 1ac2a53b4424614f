//! Which programs of tests run when: first those that measure, one after the other, then the rest in two lists beside each other,
//! since most of them wait, for processes and time-outs.

use std::process::Command;

use anyhow::{Context as _, Result, anyhow};
use plimsoll_harness::not_tried::NotTried;
use plimsoll_harness::test_output::{TestCounts, run_tests};
use plimsoll_harness::workspace::Workspace;
use serde_json::Value;

use super::cargo_in;

/// Tests of one program that run at a time.
const TEST_THREADS: &str = "8";

/// The program that takes as long as most others together.
const LONGEST: &str = "e2e";

/// Programs of which every test measures.
const MEASURING: [&str; 2] = ["limits", "services"];

/// Programs some of whose tests measure.
const PARTLY_MEASURING: [&str; 2] = [LONGEST, "it"];

/// The module of those tests.
const ALONE: &str = "alone::";

/// Runs the tests that measure.
pub(super) fn measure(
    workspace: &Workspace,
    not_tried: &NotTried,
    counts: &mut TestCounts,
) -> Result<()> {
    let mut partly = tests_of(workspace, not_tried, &PARTLY_MEASURING);
    partly.args(["--", ALONE]);
    let mut wholly = tests_of(workspace, not_tried, &MEASURING);
    let results =
        [&mut partly, &mut wholly].map(|tests| run_tests(tests, counts, |line| println!("{line}")));
    results.into_iter().collect()
}

/// Runs all others.
pub(super) fn test(
    workspace: &Workspace,
    not_tried: &NotTried,
    counts: &mut TestCounts,
) -> Result<()> {
    let mut longest = tests_of(workspace, not_tried, &[LONGEST]);
    longest.args(["--", "--skip", ALONE]);
    let rest = others(workspace.metadata())?;
    let mut others = tests_of(workspace, not_tried, &rest);
    others.args(["--lib", "--bins", "--", "--skip", ALONE]);
    let mut examples = tests_of(workspace, not_tried, &[]);
    examples.arg("--doc");
    let mut counts_of_others = TestCounts::default();
    let mut lines = Vec::new();
    let results = std::thread::scope(|scope| {
        let beside = scope.spawn(|| {
            let results = [&mut others, &mut examples].map(|tests| {
                run_tests(tests, &mut counts_of_others, |line| {
                    lines.push(line.to_owned());
                })
            });
            results.into_iter().collect()
        });
        let result = run_tests(&mut longest, counts, |line| println!("{line}"));
        let beside: Result<Result<()>> = beside
            .join()
            .map_err(|_| anyhow!("a list of tests panicked"));
        [result, beside.flatten()]
    });
    for line in lines {
        println!("{line}");
    }
    *counts += counts_of_others;
    results.into_iter().collect()
}

/// Programs of tests without those that run by themselves.
fn others(metadata: &Value) -> Result<Vec<&str>> {
    let packages = metadata["packages"]
        .as_array()
        .context("cargo metadata lacks packages")?;
    let targets = packages
        .iter()
        .filter_map(|package| package["targets"].as_array())
        .flatten();
    let run = targets.filter(|target| target["kind"][0] == "test" && target["test"] == true);
    let names = run.filter_map(|target| target["name"].as_str());
    let mut names: Vec<&str> = names
        .filter(|name| *name != LONGEST && !MEASURING.contains(name))
        .collect();
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// The tests of these programs, whatever their package: with a selection of packages their libraries would be built anew.
fn tests_of(workspace: &Workspace, not_tried: &NotTried, programs: &[&str]) -> Command {
    let test = [
        "test",
        "--workspace",
        "--no-fail-fast",
        "--locked",
        "--quiet",
    ];
    let mut command = cargo_in(workspace, &test);
    for program in programs {
        command.args(["--test", program]);
    }
    command.env("RUST_TEST_THREADS", TEST_THREADS);
    not_tried.collect(&mut command);
    command
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_program_of_tests_is_in_one_list() {
        let target = |kind: &str, name: &str, test: bool| json!({"kind": [kind], "name": name, "test": test});
        let metadata = json!({"packages": [
            {"targets": [target("lib", "a", true), target("test", "it", true), target("test", "slow", false)]},
            {"targets": [target("test", "e2e", true), target("test", "it", true), target("test", "limits", true)]},
            {"targets": [target("test", "laws", true), target("bin", "b", true)]},
        ]});
        assert_eq!(others(&metadata).unwrap(), ["it", "laws"]);
    }
}
