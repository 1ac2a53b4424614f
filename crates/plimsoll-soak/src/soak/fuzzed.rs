//! Every fuzz target for some minutes; a finding fails the soak.

use anyhow::Result;
use plimsoll_harness::workspace::Workspace;
use serde_json::{Value, json};

use crate::fuzz::FuzzWorkspace;
use crate::fuzz::report::{FuzzReport, HEADING};

/// Runs each target that has not run for as long yet; `keep` receives each result.
pub(super) fn run(
    workspace: &Workspace,
    minutes: u64,
    results: &mut Vec<Value>,
    keep: impl Fn(&Value) -> Result<()>,
) -> Result<()> {
    let place = FuzzWorkspace::of(workspace)?;
    let left: Vec<String> = place
        .names()?
        .into_iter()
        .filter(|name| !is_done(results, name, minutes))
        .collect();
    if left.is_empty() {
        return Ok(());
    }
    place.build(&left)?;
    println!("{HEADING}");
    for (seed, name) in (1..).zip(left) {
        let report = place.report_on(&name, minutes * 60, seed)?;
        let result = result(&name, minutes, &report);
        keep(&result)?;
        results.push(result);
    }
    Ok(())
}

fn result(name: &str, minutes: u64, report: &FuzzReport) -> Value {
    json!({ "fuzz": {
        "target": name, "minutes": minutes, "tried": report.tried, "edges": report.edges, "peak_mib": report.peak_mib,
        "finding": report.finding, "input": report.input,
    } })
}

/// Whether a target ran for as long without a finding: a target with a finding runs again, since it may be fixed.
fn is_done(results: &[Value], name: &str, minutes: u64) -> bool {
    last(results, name).is_some_and(|fuzz| {
        fuzz["finding"].is_null() && fuzz["minutes"].as_u64().is_some_and(|had| had >= minutes)
    })
}

/// The latest result of a target.
fn last<'a>(results: &'a [Value], name: &str) -> Option<&'a Value> {
    let fuzzed = results.iter().rev().map(|result| &result["fuzz"]);
    fuzzed.into_iter().find(|fuzz| fuzz["target"] == name)
}

/// Prints a line for each target; true if the latest run of each has no finding.
pub(super) fn summarise(results: &[Value]) -> bool {
    let mut names: Vec<&str> = results
        .iter()
        .filter_map(|result| result["fuzz"]["target"].as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    let mut is_clean = true;
    for name in names {
        let Some(fuzz) = last(results, name) else {
            continue;
        };
        let is_found = !fuzz["finding"].is_null();
        is_clean &= !is_found;
        println!(
            "fuzz {name}: {} inputs in {} min, {}",
            fuzz["tried"],
            fuzz["minutes"],
            if is_found {
                "SOMETHING FOUND"
            } else {
                "nothing found"
            }
        );
    }
    is_clean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fuzz(target: &str, minutes: u64, finding: Option<&str>) -> Value {
        json!({ "fuzz": { "target": target, "minutes": minutes, "tried": 7, "finding": finding } })
    }

    #[test]
    fn a_finding_fails_the_soak_until_a_later_try_finds_nothing() {
        let mut results = vec![fuzz("plan", 10, None), fuzz("har", 10, Some("panicked"))];
        assert!(!summarise(&results));
        assert!(is_done(&results, "plan", 10));
        assert!(!is_done(&results, "plan", 20), "it was tried for less");
        assert!(!is_done(&results, "har", 10), "it is tried again");
        assert!(!is_done(&results, "log", 10), "it never was tried");
        results.push(fuzz("har", 10, None));
        assert!(summarise(&results) && is_done(&results, "har", 10));
    }
}
