//! `cargo xtask soak`: tests that take hours. The load line against four known laws on real sockets, ten seeds each, the
//! memory of a long run, the cost of a coordinator of a hundred workers, of an agent and of a live page with ten viewers, comparisons
//! of two services, killed searches for settings, the commands of the documentation without abridgement, and every fuzz target.
//!
//! Every result is appended to a file; results that the file already contains are not repeated.

mod agent;
mod compared;
mod coordinated;
mod fuzzed;
mod kills;
mod pages;
mod truth;
mod viewers;
mod worlds;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use plimsoll_harness::child::{resident, weigh};
use plimsoll_harness::clock::Stopwatch;
use plimsoll_harness::machine::raise_descriptor_limit;
use plimsoll_harness::origin::OriginProcess;
use plimsoll_harness::release::build;
use plimsoll_harness::workspace::Workspace;
use serde_json::{Value, json};

use self::truth::QueueLaw;

#[derive(Args)]
pub(crate) struct SoakArguments {
    /// Seeds of each law; 0 skips them
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=1_000))]
    seeds: u64,
    /// How long each search may take
    #[arg(long, value_enum, default_value_t = SearchEffort::Quick)]
    search: SearchEffort,
    /// Minutes of the memory run; 0 skips it
    #[arg(long, default_value_t = 20)]
    memory_minutes: u64,
    /// Minutes of a load that a hundred replayed workers carry, for the cost of their coordinator; 0 skips it
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(0..=1_440))]
    workers_minutes: u64,
    /// Minutes for which an agent is read once a second, for its cost; 0 skips it
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(0..=1_440))]
    agent_minutes: u64,
    /// Seconds of each of ten runs, every other one with ten viewers of its live page, for the cost of these; 0 skips them
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(0..=3_600))]
    viewer_seconds: u64,
    /// Comparisons of equal services; half as many find a slower one; 0 skips them
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u64).range(0..=1_000))]
    comparisons: u64,
    /// Comparisons beside each other: they wait for timers more than they compute
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
    comparisons_at_once: u8,
    /// Comparisons of equal services in virtual time, for the page; a quarter as many find a slower one; 0 writes no page
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(0..=10_000))]
    virtual_comparisons: u64,
    /// Seeds of each simulated queue whose mean is a formula; 0 skips them
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(0..=10_000))]
    world_seeds: u64,
    /// Searches for settings that are killed at random moments over a whole stack; 0 skips them
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(0..=10_000))]
    kills: u64,
    /// Seed of the moments; another one kills as many again
    #[arg(long, default_value_t = 1)]
    kill_seed: u64,
    /// Leave out the commands of the documentation, which take more than an hour
    #[arg(long)]
    no_pages: bool,
    /// Minutes of each fuzz target; 0 skips them
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=1_440))]
    fuzz_minutes: u64,
    /// Results, one JSON object per line; continued if the file exists [default: soak.jsonl in the target folder]
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SearchEffort {
    Quick,
    Default,
    Thorough,
}

/// The objective of every search, for which the true line is computed.
const OBJECTIVE: &str = "p95 < 50ms, errors < 1%";
const SHARE: f64 = 0.95;
const BOUND_S: f64 = 0.05;

/// The seed of the origin's service times must differ from that of the simulation.
const SEED_BASE: u64 = 1_000;

/// How far the printed median may be from the truth.
const MEDIAN_ERROR_MAX: f64 = 0.05;

/// Growth of the resident set from the second tenth of the memory run to its end that counts as flat, in bytes.
const GROWTH_MAX: u64 = 2 << 20;

pub(crate) fn run(arguments: &SoakArguments) -> Result<ExitCode> {
    let workspace = Workspace::find()?;
    build(&workspace)?;
    raise_descriptor_limit()?;
    let path = arguments
        .results
        .clone()
        .unwrap_or_else(|| workspace.target().join("soak.jsonl"));
    let mut results = read(&path)?;
    println!(
        "results: {} ({} there already)",
        path.display(),
        results.len()
    );
    laws(&workspace, arguments, &path, &mut results)?;
    if arguments.memory_minutes > 0 && !results.iter().any(|result| result["memory"].is_object()) {
        let result = memory(&workspace, arguments.memory_minutes)?;
        append(&path, &result)?;
        results.push(result);
    }
    costs(&workspace, arguments, &path, &mut results)?;
    worlds::run(arguments.world_seeds, &mut results, |result| {
        append(&path, result)
    })?;
    let at_once = usize::from(arguments.comparisons_at_once);
    compared::run(
        &workspace,
        arguments.comparisons,
        at_once,
        &mut results,
        |result| append(&path, result),
    )?;
    let kills = (arguments.kills, arguments.kill_seed);
    kills::run(&workspace, kills, &mut results, |result| {
        append(&path, result)
    })?;
    if !arguments.no_pages {
        pages::run(&workspace, &mut results, |result| append(&path, result))?;
    }
    if arguments.fuzz_minutes > 0 {
        fuzzed::run(&workspace, arguments.fuzz_minutes, &mut results, |result| {
            append(&path, result)
        })?;
    }
    compared::write_page(&workspace, arguments.virtual_comparisons, &results)?;
    Ok(if summarise(&results, arguments.seeds > 0) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The load line against every law with every seed.
fn laws(
    workspace: &Workspace,
    arguments: &SoakArguments,
    path: &Path,
    results: &mut Vec<Value>,
) -> Result<()> {
    for law in QueueLaw::ALL.iter().filter(|_| arguments.seeds > 0) {
        let truth = law.load_line(SHARE, BOUND_S);
        println!("{}: the line by the law is {truth:.1} requests/s", law.name);
        for seed in 1..=arguments.seeds {
            let is_done = |result: &Value| result["law"] == law.name && result["seed"] == seed;
            if !results.iter().any(is_done) {
                let result = search(workspace, law, seed, truth, arguments.search)?;
                append(path, &result)?;
                results.push(result);
            }
        }
    }
    Ok(())
}

/// What a coordinator, an agent and the viewers of a page cost.
fn costs(
    workspace: &Workspace,
    arguments: &SoakArguments,
    path: &Path,
    results: &mut Vec<Value>,
) -> Result<()> {
    let keep = |result: &Value| append(path, result);
    coordinated::run(workspace, arguments.workers_minutes, results, keep)?;
    agent::run(workspace, arguments.agent_minutes, results, keep)?;
    viewers::run(workspace, arguments.viewer_seconds, results, keep)
}

fn read(path: &Path) -> Result<Vec<Value>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let mut text = std::fs::read_to_string(path)?;
    // A kill may tear the last line; what it was the result of is repeated.
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    if whole < text.len() {
        text.truncate(whole);
        let file = OpenOptions::new().write(true).open(path)?;
        file.set_len(whole as u64)?;
    }
    let line = |line: &str| {
        serde_json::from_str(line).with_context(|| format!("{}: not JSON: {line}", path.display()))
    };
    text.lines().map(line).collect()
}

fn append(path: &Path, result: &Value) -> Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    writeln!(file, "{result}").with_context(|| format!("cannot write {}", path.display()))
}

/// One search against one seed of one law.
fn search(
    workspace: &Workspace,
    law: &QueueLaw,
    seed: u64,
    truth: f64,
    search: SearchEffort,
) -> Result<Value> {
    let folder = tempfile::tempdir()?;
    let arguments = law.origin_arguments(SEED_BASE + seed);
    let origin = OriginProcess::start(&workspace.release("plimsoll-origin"), None, &arguments)?;
    let stopwatch = Stopwatch::start();
    let mut command = Command::new(workspace.release("plimsoll"));
    command
        .args(["limit", origin.url(), "--objective", OBJECTIVE, "--json"])
        .current_dir(folder.path());
    command.args(match search {
        SearchEffort::Quick => &["--quick"][..],
        SearchEffort::Default => &[],
        SearchEffort::Thorough => &["--thorough"],
    });
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .context("cannot run plimsoll")?;
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    let counts = origin.finish()?;
    let result = evaluate(law.name, seed, truth, &report);
    println!(
        "  seed {seed}: {} .. {} .. {} after {:.0} s, exit {:?}: {}",
        result["low"],
        result["median"],
        result["high"],
        stopwatch.elapsed().as_secs_f64(),
        output.status.code(),
        if result["held"] == true {
            "held"
        } else {
            "NOT held"
        }
    );
    let mut result = result;
    result["exit"] = json!(output.status.code());
    result["origin"] = json!(counts.lines().next());
    Ok(result)
}

/// Whether the printed interval contains the true line, and the median is close to it.
fn evaluate(law: &str, seed: u64, truth: f64, report: &Value) -> Value {
    let line = &report["load_line"];
    let number = |key: &str| line[key].as_f64();
    let held = match (number("low"), number("median"), number("high")) {
        (Some(low), Some(median), Some(high)) => {
            (low..=high).contains(&truth) && (median / truth - 1.0).abs() <= MEDIAN_ERROR_MAX
        }
        _ => false,
    };
    json!({
        "law": law, "seed": seed, "truth": truth,
        "low": number("low"), "median": number("median"), "high": number("high"),
        "held": held, "reason": report["reason"], "void": report["void"],
    })
}

/// A long run at a constant rate: the resident set must not grow once it has settled.
fn memory(workspace: &Workspace, minutes: u64) -> Result<Value> {
    println!("memory: {minutes} minutes at 2000/s");
    let folder = tempfile::tempdir()?;
    let arguments = ["--law", "deterministic", "--mean-us", "0"];
    let origin = OriginProcess::start(&workspace.release("plimsoll-origin"), None, &arguments)?;
    let mut command = Command::new(workspace.release("plimsoll"));
    command
        .args(["run", origin.url(), "--rate", "2000/s", "--json", "--for"])
        .arg(format!("{minutes}m"))
        .current_dir(folder.path());
    let mut readings: Vec<u64> = Vec::new();
    weigh(command, &[], Duration::from_secs(1), |pid, _| {
        readings.extend(resident(pid));
    })?;
    let (settled, last, flat) = memory_growth(&readings)?;
    println!(
        "  {} KiB after a fifth, {} KiB at the end",
        settled >> 10,
        last >> 10
    );
    Ok(json!({ "memory": { "minutes": minutes, "settled": settled, "last": last, "flat": flat } }))
}

/// The resident set in the second tenth of these readings and in their last one, in bytes, and whether it did not grow.
fn memory_growth(readings: &[u64]) -> Result<(u64, u64, bool)> {
    let settled = readings
        .get(readings.len() / 10..readings.len() / 5)
        .unwrap_or_default();
    let settled = settled
        .iter()
        .copied()
        .max()
        .context("the run was too short to read its memory")?;
    let last = readings
        .iter()
        .copied()
        .rev()
        .take(readings.len() / 10 + 1)
        .max()
        .unwrap_or_default();
    Ok((settled, last, last <= settled + GROWTH_MAX))
}

/// Prints a line per law; true if each held in nine of ten seeds and the memory stayed flat. Laws without results hold only
/// if none were asked for.
fn summarise(results: &[Value], has_laws: bool) -> bool {
    let mut all_hold = true;
    for law in QueueLaw::ALL {
        let of_law: Vec<_> = results
            .iter()
            .filter(|result| result["law"] == law.name)
            .collect();
        if of_law.is_empty() && !has_laws {
            continue;
        }
        let held = of_law
            .iter()
            .filter(|result| result["held"] == true)
            .count();
        let holds = !of_law.is_empty() && held * 10 >= of_law.len() * 9;
        all_hold &= holds;
        let void = of_law
            .iter()
            .filter(|result| !result["void"].is_null())
            .count();
        // A void search has no interval: it counts as a miss.
        println!(
            "{}: held in {held} of {} seeds, {void} void{}",
            law.name,
            of_law.len(),
            if holds { "" } else { ": too few" }
        );
    }
    for memory in results
        .iter()
        .map(|result| &result["memory"])
        .filter(|memory| memory.is_object())
    {
        let is_flat = memory["flat"] == true;
        all_hold &= is_flat;
        println!(
            "memory: {} to {} bytes{}",
            memory["settled"],
            memory["last"],
            if is_flat { ", flat" } else { ": it grows" }
        );
    }
    all_hold
        & coordinated::summarise(results)
        & viewers::summarise(results)
        & agent::summarise(results)
        & compared::summarise(results)
        & kills::summarise(results)
        & pages::summarise(results)
        & worlds::summarise(results)
        & fuzzed::summarise(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_holds_if_its_interval_and_its_median_do() {
        let report = |low: f64, median: f64, high: f64| json!({ "load_line": { "low": low, "median": median, "high": high } });
        let held = |value: &Value| evaluate("M/M/1", 1, 40.0, value)["held"] == true;
        assert!(held(&report(38.0, 41.0, 43.0)));
        assert!(!held(&report(40.5, 41.0, 43.0)), "the truth is below");
        assert!(!held(&report(38.0, 43.0, 44.0)), "the median is 7.5 % off");
        assert!(!held(&json!({ "load_line": null, "reason": "void" })));
    }

    #[test]
    fn nine_of_ten_must_hold() {
        let results = |held_count: u64| -> Vec<Value> {
            let laws = QueueLaw::ALL.map(|law| law.name);
            let all = laws
                .iter()
                .flat_map(|law| (1..=10).map(move |seed| (law, seed)));
            all.map(|(law, seed)| json!({ "law": law, "seed": seed, "held": seed <= held_count }))
                .collect()
        };
        assert!(summarise(&results(9), true));
        assert!(!summarise(&results(8), true));
        assert!(!summarise(&[], true), "nothing measured is not held");
        assert!(summarise(&[], false), "no law was asked for");
        let growing = json!({ "memory": { "flat": false } });
        assert!(!summarise(&[results(10), vec![growing]].concat(), true));
    }

    #[test]
    fn results_are_continued() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("soak.jsonl");
        assert!(read(&path).unwrap().is_empty());
        append(&path, &json!({ "seed": 1 })).unwrap();
        append(&path, &json!({ "seed": 2 })).unwrap();
        assert_eq!(
            read(&path).unwrap(),
            [json!({ "seed": 1 }), json!({ "seed": 2 })]
        );
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{whole}{{\"seed\":")).unwrap();
        assert_eq!(read(&path).unwrap().len(), 2, "a kill tore the last line");
        append(&path, &json!({ "seed": 3 })).unwrap();
        assert_eq!(read(&path).unwrap().len(), 3);
        std::fs::write(&path, "{\"seed\":\n").unwrap();
        assert!(
            read(&path)
                .unwrap_err()
                .to_string()
                .contains("soak.jsonl: not JSON")
        );
    }
}
