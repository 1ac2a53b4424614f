//! The cost of an agent that is read once a second: less than 1 % of a core, in constant memory.
//!
//! The agent is the real program, on this machine, beside an origin under a small load; the run that sends the load reads it.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::child::{cpu, resident};
use plimsoll_harness::clock::{Stopwatch, pause};
use plimsoll_harness::origin::OriginProcess;
use plimsoll_harness::workspace::Workspace;
use plimsoll_testkit::program::agents::Agent;
use serde_json::{Value, json};

use super::memory_growth;

/// Share of a core that an agent must stay below.
const SHARE_MAX: f64 = 0.01;
/// How long after its start the run is sampled: the agent has discovered what there is.
const SETTLING: Duration = Duration::from_secs(10);
/// Requests a second of the load.
const RATE: &str = "200/s";

/// Measures unless there is a result already; `keep` receives it.
pub(super) fn run(
    workspace: &Workspace,
    minutes: u64,
    results: &mut Vec<Value>,
    keep: impl Fn(&Value) -> Result<()>,
) -> Result<()> {
    if minutes == 0 || results.iter().any(|it| it["agent"].is_object()) {
        return Ok(());
    }
    println!("agent: read once a second beside {RATE}, {minutes} minutes");
    let result = measure(workspace, minutes)?;
    println!("  {}", text(&result["agent"]));
    keep(&result)?;
    results.push(result);
    Ok(())
}

fn measure(workspace: &Workspace, minutes: u64) -> Result<Value> {
    let folder = tempfile::tempdir()?;
    let arguments = ["--law", "deterministic", "--mean-us", "1000"];
    let origin = OriginProcess::start(&workspace.release("plimsoll-origin"), None, &arguments)?;
    let program = workspace.release("plimsoll");
    let agent = Agent::start(&program, "measured");
    let child = Command::new(&program)
        .args(["run", origin.url(), "--rate", RATE, "--quiet", "--for"])
        .arg(format!("{minutes}m"))
        .args(["--watch", "none"])
        .args(agent.flags())
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .context("cannot run plimsoll")?;
    let mut reader = Reader { child };
    let samples = reader.watch(agent.program.pid())?;
    evaluate(&samples, minutes)
}

/// The run that reads the agent.
struct Reader {
    child: Child,
}

impl Reader {
    /// Samples the agent every second, until the run has ended.
    fn watch(&mut self, agent: u32) -> Result<Vec<CostSample>> {
        let stopwatch = Stopwatch::start();
        let mut samples = Vec::new();
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            let at = stopwatch.elapsed();
            if at >= SETTLING {
                samples.extend(CostSample::take(agent, at));
            }
            pause(Duration::from_secs(1));
        };
        // 6: this machine was too busy for the load; the agent was read all the same.
        ensure!(
            matches!(status.code(), Some(0 | 6)),
            "the run that reads the agent ended with {status}"
        );
        Ok(samples)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // Already ended after `watch`.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the agent has used so far.
#[derive(Clone, Copy)]
struct CostSample {
    at: Duration,
    cpu: Duration,
    resident: u64,
}

impl CostSample {
    fn take(pid: u32, at: Duration) -> Option<Self> {
        Some(Self {
            at,
            cpu: cpu(pid)?,
            resident: resident(pid)?,
        })
    }
}

fn evaluate(samples: &[CostSample], minutes: u64) -> Result<Value> {
    let (first, last) = samples
        .first()
        .zip(samples.last())
        .filter(|(first, last)| last.at > first.at)
        .context("the load was too short to sample the agent")?;
    let length_s = last.at.saturating_sub(first.at).as_secs_f64();
    let used_s = last.cpu.saturating_sub(first.cpu).as_secs_f64();
    let readings: Vec<u64> = samples.iter().map(|sample| sample.resident).collect();
    let (settled, last_resident, flat) = memory_growth(&readings)?;
    Ok(json!({ "agent": {
        "minutes": minutes, "share": used_s / length_s, "settled": settled, "last": last_resident, "flat": flat,
    } }))
}

fn holds(result: &Value) -> bool {
    let share = result["share"].as_f64().unwrap_or(f64::INFINITY);
    share < SHARE_MAX && result["flat"] == true
}

fn text(result: &Value) -> String {
    format!(
        "{:.2} % of a core, less than {:.0} % required; {} to {} bytes",
        result["share"].as_f64().unwrap_or(f64::NAN) * 100.0,
        SHARE_MAX * 100.0,
        result["settled"],
        result["last"],
    )
}

/// Prints the cost; true if all of it is within bounds, and without a result.
pub(super) fn summarise(results: &[Value]) -> bool {
    let mut measured = results.iter().rev().map(|result| &result["agent"]);
    let Some(result) = measured.find(|it| it.is_object()) else {
        return true;
    };
    let holds = holds(result);
    println!(
        "agent: {}{}",
        text(result),
        if holds { "" } else { ": TOO MUCH" }
    );
    holds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_is_that_between_the_first_and_the_last_sample() {
        let sample = |second: u32| CostSample {
            at: Duration::from_secs(10 + u64::from(second)),
            cpu: Duration::from_millis(900) + Duration::from_millis(6) * second,
            resident: 12 << 20,
        };
        let samples: Vec<CostSample> = (0..50).map(sample).collect();
        let result = evaluate(&samples, 1).unwrap();
        let result = &result["agent"];
        let share = result["share"].as_f64().unwrap();
        assert!((share - 0.006).abs() < 1e-9, "{share}");
        assert!(holds(result), "{result}");
        assert!(text(result).starts_with("0.60 % of a core, less than 1 % required"));
        for (name, value) in [("share", json!(0.01)), ("flat", json!(false))] {
            let mut worse = result.clone();
            worse[name] = value;
            assert!(!holds(&worse), "{name}");
            assert!(!summarise(&[json!({ "agent": worse })]), "{name}");
        }
        assert!(evaluate(&samples[..1], 1).is_err());
        assert!(summarise(&[json!({ "law": "x" })]), "nothing was measured");
    }
}
