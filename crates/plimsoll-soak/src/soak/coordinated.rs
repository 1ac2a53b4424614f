//! The cost of a coordinator at a hundred workers: at most 2 % of a core, in constant memory.
//!
//! The coordinator is `plimsoll run`, with its log and its probes. The workers are replayed: threads of this process that speak
//! the protocol over real sockets and send a recorded second at the end of each, all at the same moment. They send no load.

mod replay;

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::child::{cpu, resident};
use plimsoll_harness::clock::{Stopwatch, pause};
use plimsoll_harness::origin::OriginProcess;
use plimsoll_harness::workspace::Workspace;
use serde_json::{Value, json};

use super::memory_growth;
use replay::{RATE, ReplayedLoad, replay};

/// Workers of the load.
const WORKERS: u32 = 100;
/// Highest share of a core that the coordinator may use.
const SHARE_MAX: f64 = 0.02;
/// Seconds of the load before the first sample: connections and clocks have settled.
const SETTLING_S: u32 = 5;
/// What the coordinator's threads are called: one listens, and each of the others serves a worker.
const THREADS: [&str; 2] = ["workers", "worker"];

/// Measures unless there is a result already; `keep` receives it.
pub(super) fn run(
    workspace: &Workspace,
    minutes: u64,
    results: &mut Vec<Value>,
    keep: impl Fn(&Value) -> Result<()>,
) -> Result<()> {
    if minutes == 0 || results.iter().any(|it| it["coordinator"].is_object()) {
        return Ok(());
    }
    println!("coordinator: {WORKERS} replayed workers with {RATE}/s each, {minutes} minutes");
    let result = measure(workspace, minutes)?;
    println!("  {}", text(&result["coordinator"]));
    keep(&result)?;
    results.push(result);
    Ok(())
}

fn measure(workspace: &Workspace, minutes: u64) -> Result<Value> {
    let lasting_s = u32::try_from(minutes * 60)?;
    let folder = tempfile::tempdir()?;
    let arguments = ["--law", "deterministic", "--mean-us", "0"];
    let origin = OriginProcess::start(&workspace.release("plimsoll-origin"), None, &arguments)?;
    let program = workspace.release("plimsoll");
    let mut run = CoordinatedRun::start(&program, origin.url(), minutes, folder.path())?;
    let progress = Arc::new(AtomicU32::new(0));
    let workers: Vec<_> = (0..WORKERS)
        .map(|number| {
            let (address, token) = run.invitation.clone();
            let progress = Arc::clone(&progress);
            let load = ReplayedLoad { number, lasting_s };
            thread::spawn(move || replay(address, &token, load, &progress))
        })
        .collect();
    let samples = run.watch(&progress, lasting_s)?;
    let report = run.finish()?;
    for worker in workers {
        let ended = worker.join().expect("a replayed worker does not panic");
        ended.context("a replayed worker")?;
    }
    evaluate(&samples, &report, minutes)
}

/// A run that waits for its workers.
struct CoordinatedRun {
    child: Child,
    /// Where workers join, and with which token.
    invitation: (SocketAddr, String),
    /// Reads what else it prints.
    stderr: Option<JoinHandle<String>>,
    report: PathBuf,
}

impl CoordinatedRun {
    fn start(program: &Path, url: &str, minutes: u64, folder: &Path) -> Result<Self> {
        let report = folder.join("report.json");
        let workers = WORKERS.to_string();
        let rate = format!("{}/s", u64::from(WORKERS) * RATE);
        let mut child = Command::new(program)
            .args(["run", url, "--json", "--rate", &rate, "--cores", "1"])
            .args(["--on", "listen:127.0.0.1:0", "--workers", &workers, "--for"])
            .arg(format!("{minutes}m"))
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(File::create(&report)?)
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot run plimsoll")?;
        let stderr = child.stderr.take().context("stderr is piped")?;
        let mut stderr = BufReader::new(stderr);
        let invitation = read_invitation(&mut stderr);
        let rest = thread::spawn(move || {
            let mut text = String::new();
            // What cannot be read is missing in a message.
            let _ = stderr.read_to_string(&mut text);
            text
        });
        Ok(Self {
            child,
            invitation: invitation?,
            stderr: Some(rest),
            report,
        })
    }

    /// Samples every second of the load, until it has ended.
    fn watch(&mut self, progress: &AtomicU32, lasting_s: u32) -> Result<Vec<CostSample>> {
        let stopwatch = Stopwatch::start();
        let mut samples = Vec::new();
        while self.child.try_wait()?.is_none() {
            let second = progress.load(Ordering::Relaxed);
            if (SETTLING_S..lasting_s).contains(&second) {
                samples.extend(CostSample::take(self.child.id(), stopwatch.elapsed()));
            }
            pause(Duration::from_secs(1));
        }
        Ok(samples)
    }

    /// What it printed as JSON.
    fn finish(mut self) -> Result<Value> {
        let stderr = self.stderr.take().map(JoinHandle::join);
        let stderr = stderr.and_then(Result::ok).unwrap_or_default();
        let text = std::fs::read_to_string(&self.report)?;
        serde_json::from_str(&text).with_context(|| format!("no report: {stderr}"))
    }
}

impl Drop for CoordinatedRun {
    fn drop(&mut self) {
        // Already ended after `watch`.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Address and token of the line that starts a worker.
fn read_invitation(stderr: &mut impl BufRead) -> Result<(SocketAddr, String)> {
    let mut text = String::new();
    loop {
        let before = text.len();
        ensure!(
            stderr.read_line(&mut text)? > 0,
            "the run invites nobody: {text}"
        );
        let line = text[before..].trim();
        if let Some(rest) = line.strip_prefix("plimsoll worker --join ") {
            let (address, token) = rest.split_once(" --token ").context("no token")?;
            return Ok((address.parse()?, token.to_owned()));
        }
    }
}

/// What the run has used so far.
#[derive(Clone, Copy)]
struct CostSample {
    at: Duration,
    /// CPU time of the coordinator's threads.
    coordinator: Duration,
    /// CPU time of the whole process.
    process: Duration,
    resident: u64,
}

impl CostSample {
    fn take(pid: u32, at: Duration) -> Option<Self> {
        Some(Self {
            at,
            coordinator: coordinator_cpu(pid)?,
            process: cpu(pid)?,
            resident: resident(pid)?,
        })
    }
}

/// CPU time of the threads of the coordinator, to the nanosecond: a hundred of them hide a second between ticks of the clock.
fn coordinator_cpu(pid: u32) -> Option<Duration> {
    let mut sum = Duration::ZERO;
    for task in std::fs::read_dir(format!("/proc/{pid}/task")).ok()? {
        let task = task.ok()?.path();
        let name = std::fs::read_to_string(task.join("comm")).ok()?;
        if THREADS.contains(&name.trim()) {
            let schedstat = std::fs::read_to_string(task.join("schedstat")).ok()?;
            sum += Duration::from_nanos(schedstat.split(' ').next()?.parse().ok()?);
        }
    }
    Some(sum)
}

fn evaluate(samples: &[CostSample], report: &Value, minutes: u64) -> Result<Value> {
    let (first, last) = samples
        .first()
        .zip(samples.last())
        .filter(|(first, last)| last.at > first.at)
        .context("the load was too short to be sampled; does the kernel count the time of threads (schedstat)?")?;
    let length_s = last.at.saturating_sub(first.at).as_secs_f64();
    let share = |used: fn(&CostSample) -> Duration| {
        used(last).saturating_sub(used(first)).as_secs_f64() / length_s
    };
    let readings: Vec<u64> = samples.iter().map(|sample| sample.resident).collect();
    let (settled, last_resident, flat) = memory_growth(&readings)?;
    let workers = report["workers"].as_array().map_or(&[][..], Vec::as_slice);
    let gone = workers.iter().filter(|worker| !worker["lost_at"].is_null());
    let counted: u64 = workers
        .iter()
        .filter_map(|it| it["requests"].as_u64())
        .sum();
    let sent = u64::from(WORKERS) * RATE * minutes * 60;
    Ok(json!({ "coordinator": {
        "workers": workers.len(), "lost": gone.count(), "minutes": minutes,
        "share": share(|sample| sample.coordinator), "process_share": share(|sample| sample.process),
        "settled": settled, "last": last_resident, "flat": flat, "whole": counted == sent && report["requests"] == sent,
    } }))
}

/// Whether it used no more than it may, and counted everything.
fn holds(result: &Value) -> bool {
    let share = result["share"].as_f64().unwrap_or(f64::INFINITY);
    share <= SHARE_MAX && result["flat"] == true && result["whole"] == true && result["lost"] == 0
}

fn text(result: &Value) -> String {
    let percent = |name: &str| result[name].as_f64().unwrap_or(f64::NAN) * 100.0;
    format!(
        "{} workers: {:.2} % of a core, at most {:.0} %, of {:.2} % that the whole run used; {} to {} bytes; {} lost, counts {}",
        result["workers"],
        percent("share"),
        SHARE_MAX * 100.0,
        percent("process_share"),
        result["settled"],
        result["last"],
        result["lost"],
        if result["whole"] == true {
            "exact"
        } else {
            "WRONG"
        },
    )
}

/// Prints the cost; true if all of it is within bounds, and without a result.
pub(super) fn summarise(results: &[Value]) -> bool {
    let mut measured = results.iter().rev().map(|result| &result["coordinator"]);
    let Some(result) = measured.find(|it| it.is_object()) else {
        return true;
    };
    let holds = holds(result);
    println!(
        "coordinator of {}{}",
        text(result),
        if holds { "" } else { ": TOO MUCH" }
    );
    holds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invitation_is_among_other_lines() {
        let mut lines = "waiting for 100 workers\nplimsoll worker --join 127.0.0.1:7400 --token plimsoll1-a\nmore\n".as_bytes();
        let (address, token) = read_invitation(&mut lines).unwrap();
        assert_eq!((address.port(), token.as_str()), (7400, "plimsoll1-a"));
        let error = read_invitation(&mut "error: no\n".as_bytes()).unwrap_err();
        assert!(error.to_string().contains("error: no"), "{error}");
    }

    #[test]
    fn the_cost_is_that_between_the_first_and_the_last_sample() {
        let sample = |second: u32| CostSample {
            at: Duration::from_secs(10 + u64::from(second)),
            coordinator: Duration::from_millis(500) + Duration::from_millis(15) * second,
            process: Duration::from_millis(700) + Duration::from_millis(40) * second,
            resident: 50 << 20,
        };
        let samples: Vec<CostSample> = (0..50).map(sample).collect();
        let worker = json!({ "requests": 60_000, "lost_at": null });
        let report = json!({ "requests": 6_000_000, "workers": vec![worker; 100] });
        let result = evaluate(&samples, &report, 1).unwrap();
        let result = &result["coordinator"];
        let share = result["share"].as_f64().unwrap();
        assert!((share - 0.015).abs() < 1e-9, "{share}");
        assert!(holds(result), "{result}");
        assert!(text(result).starts_with("100 workers: 1.50 % of a core, at most 2 %, of 4.00 %"));
        for (name, value) in [
            ("share", json!(0.021)),
            ("flat", json!(false)),
            ("whole", json!(false)),
            ("lost", json!(1)),
        ] {
            let mut worse = result.clone();
            worse[name] = value;
            assert!(!holds(&worse), "{name}");
            assert!(!summarise(&[json!({ "coordinator": worse })]), "{name}");
        }
        assert!(evaluate(&samples[..1], &report, 1).is_err());
        assert!(summarise(&[json!({ "law": "x" })]), "nothing was measured");
    }

    #[test]
    fn the_threads_of_a_coordinator_are_found_by_their_names() {
        let (sender, ended) = std::sync::mpsc::sync_channel::<()>(0);
        let thread = thread::Builder::new()
            .name("worker".to_owned())
            .spawn(move || {
                let stopwatch = Stopwatch::start();
                while stopwatch.elapsed() < Duration::from_millis(20) {
                    std::hint::spin_loop();
                }
                // It stays until its time was read.
                let _ = sender.send(());
                let _ = sender.send(());
            })
            .unwrap();
        ended.recv().unwrap();
        let used = coordinator_cpu(std::process::id());
        ended.recv().unwrap();
        thread.join().unwrap();
        if Path::new("/proc/self/schedstat").exists() {
            assert!(used.unwrap() > Duration::ZERO, "{used:?}");
        } else {
            plimsoll_testkit::not_tried::not_tried("the kernel does not count the time of threads");
        }
    }
}
