//! `plimsoll compare` on sockets: services that are equal must not be told apart, and five per cent must be found, while
//! something else takes a core during a quarter of the time.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use plimsoll_harness::clock::Stopwatch;
use plimsoll_harness::origin::OriginProcess;
use plimsoll_harness::workspace::Workspace;
use serde_json::{Value, json};

/// Service time of the baseline, µs.
const SERVICE_US: u64 = 5_000;
/// Service time of a candidate that is slower by 5 %.
const SLOWER_US: u64 = 5_250;
/// Load of each trial: half of what a service carries.
const RATE: &str = "100/s";
/// How long the core is taken, and how long it is free.
const BURNING: Duration = Duration::from_secs(40);
const RESTING: Duration = Duration::from_mins(2);
/// Share of the slower candidates that must be found.
const FOUND_MIN: f64 = 0.9;
/// One false alarm in so many comparisons of equal services is allowed.
const COMPARISONS_PER_ALARM: usize = 40;

/// Carries out comparisons of equal services and half as many of a slower one; results that are there are not repeated.
pub(super) fn run(
    workspace: &Workspace,
    comparisons: u64,
    results: &mut Vec<Value>,
    mut append: impl FnMut(&Value) -> Result<()>,
) -> Result<()> {
    for (service_us, count) in [(SERVICE_US, comparisons), (SLOWER_US, comparisons / 2)] {
        for seed in 1..=count {
            let is_done = |result: &Value| {
                result["compared"]["service_us"] == service_us && result["compared"]["seed"] == seed
            };
            if !results.iter().any(is_done) {
                let result = compare(workspace, service_us, seed)?;
                append(&result)?;
                results.push(result);
            }
        }
    }
    Ok(())
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
    let burner = Burner::start();
    let output = Command::new(workspace.release("plimsoll"))
        .args([
            "compare",
            "--base-url",
            base.url(),
            "--head-url",
            head.url(),
        ])
        .args(["--rate", RATE, "--json", "--quiet", "--seed"])
        .arg(seed.to_string())
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .context("cannot run plimsoll")?;
    drop(burner);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    let result = json!({ "compared": {
        "service_us": service_us,
        "seed": seed,
        "verdict": report["verdict"],
        "exit": output.status.code(),
        "p50": report["metrics"]["p50"],
        "blocks": report["blocks"],
        "usual_rules": report["usual_rules"],
        "seconds": stopwatch.elapsed().as_secs_f64(),
    }});
    println!(
        "compare {SERVICE_US} µs with {service_us} µs, seed {seed}: {} after {:.0} s",
        report["verdict"],
        stopwatch.elapsed().as_secs_f64()
    );
    Ok(result)
}

/// Takes a core again and again until it is dropped.
struct Burner {
    is_over: Arc<AtomicBool>,
    /// Dropped to end the rest of the thread.
    rest: Option<mpsc::SyncSender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Burner {
    fn start() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (rest, over) = mpsc::sync_channel::<()>(1);
        let flag = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            while over.recv_timeout(RESTING) == Err(RecvTimeoutError::Timeout) {
                let stopwatch = Stopwatch::start();
                while stopwatch.elapsed() < BURNING && !flag.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            }
        });
        Self {
            is_over,
            rest: Some(rest),
            thread: Some(thread),
        }
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.rest = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Prints what ours and the rules in common use concluded; true if ours alarms rarely enough and finds what was planted.
pub(super) fn summarise(results: &[Value]) -> bool {
    let of = |service_us: u64| -> Vec<&Value> {
        results
            .iter()
            .map(|result| &result["compared"])
            .filter(|compared| compared["service_us"] == service_us)
            .collect()
    };
    let (equal, slower) = (of(SERVICE_US), of(SLOWER_US));
    if equal.is_empty() && slower.is_empty() {
        return true;
    }
    let is_alarm = |verdict: &Value| verdict == "better" || verdict == "worse";
    let alarms = equal
        .iter()
        .filter(|compared| is_alarm(&compared["verdict"]))
        .count();
    let found = slower
        .iter()
        .filter(|compared| compared["verdict"] == "worse")
        .count();
    println!(
        "compare: {alarms} false alarms in {} comparisons of equal services, 5 % found in {found} of {}",
        equal.len(),
        slower.len()
    );
    for (index, rule) in usual_rules(&equal, &slower).iter().enumerate() {
        let count = |compared: &[&Value], wanted: &dyn Fn(&Value) -> bool| {
            compared
                .iter()
                .filter(|compared| wanted(&compared["usual_rules"][index]["verdict"]))
                .count()
        };
        println!(
            "  {rule}: {} false alarms, found in {}",
            count(&equal, &is_alarm),
            count(&slower, &|verdict| verdict == "worse")
        );
    }
    alarms * COMPARISONS_PER_ALARM <= equal.len() && found as f64 >= FOUND_MIN * slower.len() as f64
}

/// Names of the rules beside ours.
fn usual_rules(equal: &[&Value], slower: &[&Value]) -> Vec<String> {
    let first = equal.iter().chain(slower).next();
    let rules = first.and_then(|compared| compared["usual_rules"].as_array());
    rules
        .into_iter()
        .flatten()
        .filter_map(|rule| Some(rule["rule"].as_str()?.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(service_us: u64, verdicts: &[&str]) -> Vec<Value> {
        let result = |verdict: &&str| {
            json!({ "compared": {
                "service_us": service_us, "verdict": verdict,
                "usual_rules": [{ "rule": "last", "verdict": "worse" }],
            }})
        };
        verdicts.iter().map(result).collect()
    }

    #[test]
    fn one_alarm_in_forty_is_allowed() {
        let mut equal = vec!["same"; 39];
        equal.push("worse");
        assert!(summarise(&results(SERVICE_US, &equal)));
        equal[0] = "better";
        assert!(!summarise(&results(SERVICE_US, &equal)));
        assert!(summarise(&[]));
    }

    #[test]
    fn nine_of_ten_must_be_found() {
        let mut slower = vec!["worse"; 18];
        slower.extend(["undecided"; 2]);
        assert!(summarise(&results(SLOWER_US, &slower)));
        slower[0] = "undecided";
        assert!(!summarise(&results(SLOWER_US, &slower)));
    }
}
