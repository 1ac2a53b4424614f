//! `plimsoll compare` on sockets: services that are equal must not be told apart, and five per cent must be found, while
//! something else takes a core during a quarter of the time.

mod burner;
mod otava;
mod page;
mod tally;
mod virtual_time;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use anyhow::{Context as _, Result};
use plimsoll_harness::clock::Stopwatch;
use plimsoll_harness::machine::busy_share;
use plimsoll_harness::origin::OriginProcess;
use plimsoll_harness::workspace::Workspace;
use serde_json::{Value, json};

use self::burner::Burner;

pub(super) use page::write_page;
pub(super) use tally::summarise;

/// Service time of the baseline, µs.
const SERVICE_US: u64 = 5_000;
/// Service time of a candidate that is slower by 5 %.
const SLOWER_US: u64 = 5_250;
/// Load of each trial: half of what a service carries.
const RATE: &str = "100/s";
/// What a comparison takes at most, seconds; for the forecast before the first has ended.
const LASTING_S: f64 = 600.0;
/// What the usual rules judge.
const JUDGED: &str = "p95";

/// Carries out comparisons of equal services and half as many of a slower one, some of them beside each other; results
/// that are there are not repeated.
pub(super) fn run(
    workspace: &Workspace,
    comparisons: u64,
    at_once: usize,
    results: &mut Vec<Value>,
    mut append: impl FnMut(&Value) -> Result<()>,
) -> Result<()> {
    let pending = left(results, comparisons);
    if pending.is_empty() {
        return Ok(());
    }
    otava::install(workspace)?;
    let busy = busy_share()?;
    let _burner = Burner::start();
    let begun = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (sender, ended) = mpsc::sync_channel(at_once);
        for _ in 0..at_once.min(pending.len()) {
            let (sender, pending, begun) = (sender.clone(), &pending, &begun);
            scope.spawn(move || {
                let next = || pending.get(begun.fetch_add(1, Ordering::Relaxed));
                while let Some((service_us, seed)) = next() {
                    let result = compare(workspace, *service_us, *seed);
                    // Nobody waits any more after an error.
                    if sender.send(result).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        print_forecast(results, &pending, at_once);
        for result in ended {
            let mut result = result?;
            let compared = &mut result["compared"];
            compared["otava"] = otava::verdict(workspace, &compared["series"])?;
            compared["busy"] = json!(busy);
            compared["at_once"] = json!(at_once);
            append(&result)?;
            results.push(result);
            print_forecast(results, &left(results, comparisons), at_once);
        }
        Ok(())
    })
}

/// How long the rest takes.
fn print_forecast(results: &[Value], left: &[(u64, u64)], at_once: usize) {
    let hours = forecast_s(results, left) / at_once as f64 / 3600.0;
    println!("compare: {} left, about {hours:.1} h", left.len());
}

/// Service time and seed of the comparisons that have no result. A slower service follows each two equal ones, so that a
/// soak that is not at its end has both.
fn left(results: &[Value], comparisons: u64) -> Vec<(u64, u64)> {
    (1..=comparisons)
        .flat_map(|seed| {
            let slower = (seed % 2 == 0).then_some((SLOWER_US, seed / 2));
            [Some((SERVICE_US, seed)), slower].into_iter().flatten()
        })
        .filter(|(service_us, seed)| {
            !results.iter().any(|result| {
                result["compared"]["service_us"] == *service_us
                    && result["compared"]["seed"] == *seed
            })
        })
        .collect()
}

/// How long these comparisons take, by those of the same services that have ended.
fn forecast_s(results: &[Value], left: &[(u64, u64)]) -> f64 {
    let mean_s = |service_us: u64| {
        let seconds: Vec<f64> = results
            .iter()
            .map(|result| &result["compared"])
            .filter(|compared| compared["service_us"] == service_us)
            .filter_map(|compared| compared["seconds"].as_f64())
            .collect();
        if seconds.is_empty() {
            LASTING_S
        } else {
            seconds.iter().sum::<f64>() / seconds.len() as f64
        }
    };
    left.iter().map(|(service_us, _)| mean_s(*service_us)).sum()
}

fn compare(workspace: &Workspace, service_us: u64, seed: u64) -> Result<Value> {
    let start = |mean_us: u64| {
        let mean_us = mean_us.to_string();
        let arguments = ["--law", "deterministic", "--mean-us", &mean_us];
        OriginProcess::start(&workspace.release("plimsoll-origin"), None, &arguments)
    };
    let (base, head) = (start(SERVICE_US)?, start(service_us)?);
    let folder = tempfile::tempdir()?;
    let stopwatch = Stopwatch::start();
    // It ends with the soak, also when that is killed: nothing may disturb the soak that goes on.
    let output = Command::new("setpriv")
        .args(["--pdeathsig", "KILL"])
        .arg(workspace.release("plimsoll"))
        .args([
            "compare",
            "--base-url",
            base.url(),
            "--head-url",
            head.url(),
        ])
        .args(["--rate", RATE, "--json", "--quiet", "--out", "."])
        .args(["--seed", &seed.to_string()])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .context("cannot run setpriv with plimsoll")?;
    let report: Value = serde_json::from_slice(&output.stdout).with_context(|| {
        let text = String::from_utf8_lossy(&output.stderr);
        format!("plimsoll compare gave no result: {}", text.trim())
    })?;
    let seconds = stopwatch.elapsed().as_secs_f64();
    println!(
        "compare {SERVICE_US} µs with {service_us} µs, seed {seed}: {} after {seconds:.0} s",
        report["verdict"].as_str().unwrap_or("no verdict"),
    );
    Ok(json!({ "compared": {
        "service_us": service_us,
        "seed": seed,
        "verdict": report["verdict"],
        "exit": output.status.code(),
        "void": report["void"],
        "p50": report["metrics"]["p50"],
        "blocks": report["blocks"],
        "usual_rules": report["usual_rules"],
        "series": series(folder.path())?,
        "seconds": seconds,
    }}))
}

/// The judged metric of the trials that measured, of the baseline and of the candidate, from the log of the comparison.
fn series(folder: &Path) -> Result<[Vec<f64>; 2]> {
    let mut series = [Vec::new(), Vec::new()];
    for entry in fs::read_dir(folder)? {
        let log = entry?.path().join("experiment.log");
        if !log.exists() {
            continue;
        }
        let text =
            fs::read_to_string(&log).with_context(|| format!("cannot read {}", log.display()))?;
        for line in text.lines() {
            let event: Value = serde_json::from_str(line)?;
            let ended = &event["trial_ended"];
            let value = ended["outcome"]["measured"][JUDGED].as_f64();
            let is_candidate = ended["trial"]["cell"] == 1;
            series[usize::from(is_candidate)].extend(value);
        }
    }
    Ok(series)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_that_are_there_are_not_repeated() {
        let done = |service_us: u64, seed: u64| json!({ "compared": { "service_us": service_us, "seed": seed, "seconds": 100.0 }});
        let results = [done(SERVICE_US, 1), done(SLOWER_US, 2)];
        let left = left(&results, 4);
        assert_eq!(
            left,
            [
                (SERVICE_US, 2),
                (SLOWER_US, 1),
                (SERVICE_US, 3),
                (SERVICE_US, 4)
            ]
        );
        assert!((forecast_s(&results, &left) - 400.0).abs() < 1e-9);
        assert!((forecast_s(&[], &left) - 4.0 * LASTING_S).abs() < 1e-9);
    }

    #[test]
    fn the_series_are_those_of_the_log() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("compare-1")).unwrap();
        let ended = |cell: u64, outcome: Value| json!({ "trial_ended": { "trial": { "cell": cell }, "outcome": outcome } });
        let lines = [
            json!({ "experiment_started": {} }),
            ended(1, json!({ "measured": { "p95": 11.0 } })),
            ended(0, json!({ "measured": { "p95": 10.0 } })),
            ended(0, json!({ "void": "robbed" })),
        ];
        let text: String = lines.map(|line| format!("{line}\n")).concat();
        fs::write(folder.path().join("compare-1/experiment.log"), text).unwrap();
        assert_eq!(series(folder.path()).unwrap(), [vec![10.0], vec![11.0]]);
    }
}
