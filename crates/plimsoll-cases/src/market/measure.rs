//! The study's clients, scaled down: one process per region.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::child::pinned;
use plimsoll_harness::clock::{Stopwatch, pause};
use serde_json::Value;

use super::region::REGIONS;
use super::stack::{Delivery, MarketSettings, MarketStack};

/// Clients of each region.
pub(super) const CLIENTS: u32 = 60;
/// Of each region; the study's 120 a second for 24,000 clients, with the time they had beside it.
const CONNECTS_PER_S: u32 = 6;
/// A client predicts every 1 to 30 s in the study; here always after as long.
pub(super) const EVERY_S: u32 = 15;
/// After which an answer counts as none.
pub(super) const TIMEOUT_S: u32 = 15;
/// What a region takes longer than its load to end.
const PATIENCE: Duration = Duration::from_mins(1);

/// How long clients stay when all are in.
#[derive(Clone, Copy, Debug)]
pub(super) struct HoldTime {
    pub(super) hold_s: u32,
}

impl HoldTime {
    pub(super) fn of(is_quick: bool) -> Self {
        Self {
            hold_s: if is_quick { 15 } else { 45 },
        }
    }

    fn load_s(self) -> u32 {
        CLIENTS / CONNECTS_PER_S + self.hold_s
    }
}

/// Mean and 99th percentile, ms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct TimeStats {
    pub(super) mean: f64,
    pub(super) p99: f64,
}

/// What the clients of one region saw.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RegionResult {
    pub(super) connected: u64,
    pub(super) failed: u64,
    pub(super) answered: u64,
    pub(super) unanswered: u64,
    pub(super) broadcasts: u64,
    pub(super) handshake: Option<TimeStats>,
    pub(super) request: Option<TimeStats>,
    pub(super) broadcast: Option<TimeStats>,
}

/// One way to run the market, and what was seen in each region.
pub(super) struct MarketRow {
    pub(super) settings: MarketSettings,
    pub(super) results: Vec<RegionResult>,
}

/// A process of clients that does not outlive the measurement.
struct Clients {
    child: Child,
    out: std::path::PathBuf,
}

impl Drop for Clients {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Lets the clients of all regions come, predict and listen.
pub(super) fn run(
    stack: &MarketStack,
    programs: &Path,
    core: usize,
    length: HoldTime,
) -> Result<Vec<RegionResult>> {
    let folder = tempfile::tempdir()?;
    let mut all = Vec::new();
    for (place, port) in stack.client_ports.iter().enumerate() {
        let start = |kind: &str, words: &[String]| {
            let out = folder.path().join(format!("{kind}-{place}"));
            start(programs, core, words, out)
        };
        let listening = start("live", &live_words(*port, stack.delivery, length))?;
        let predicting = (stack.delivery == Delivery::Hub)
            .then(|| start("predictions", &request_words(*port, length)))
            .transpose()?;
        all.push((listening, predicting));
    }
    let stopwatch = Stopwatch::start();
    let limit = Duration::from_secs(length.load_s().into()) + PATIENCE;
    let mut results = Vec::new();
    for ((mut listening, predicting), region) in all.into_iter().zip(REGIONS) {
        let remaining = || limit.saturating_sub(stopwatch.elapsed());
        let report = read_report(&mut listening, remaining()).context(region.name)?;
        let mut result = of_sockets(&report)?;
        if let Some(mut predicting) = predicting {
            let report = self::read_report(&mut predicting, remaining()).context(region.name)?;
            of_requests(&report, &mut result)?;
        }
        results.push(result);
    }
    Ok(results)
}

fn live_words(port: u16, delivery: Delivery, length: HoldTime) -> Vec<String> {
    let line = format!(
        "run ws://127.0.0.1:{port}/live --ws --connections {CLIENTS} --connect-rate {CONNECTS_PER_S}/s --hold {}s \
         --timeout {TIMEOUT_S}s --cores 1 --json",
        length.hold_s
    );
    let mut words: Vec<String> = line.split(' ').map(ToOwned::to_owned).collect();
    let every = format!("{EVERY_S}s");
    let more: &[&str] = match delivery {
        Delivery::Hub => &[
            "--send",
            r#"{"subscribe":["game-1"]}"#,
            "--broadcast-stamp",
            "$.data.time",
        ],
        Delivery::AtOnce | Delivery::Feed => &[
            "--send",
            r#"{"predict":{}}"#,
            "--every",
            &every,
            "--broadcast-stamp",
            "$.time",
        ],
    };
    words.extend(more.iter().map(ToString::to_string));
    words
}

/// As often as those who stay predict, by HTTP.
fn request_words(port: u16, length: HoldTime) -> Vec<String> {
    let rate = f64::from(CLIENTS) / f64::from(EVERY_S);
    let line = format!(
        "run http://127.0.0.1:{port}/predictions --rate {rate}/s --spacing even --for {}s -d {{}} --timeout {TIMEOUT_S}s \
         --cores 1 --json",
        length.load_s()
    );
    line.split(' ').map(ToOwned::to_owned).collect()
}

fn start(
    programs: &Path,
    core: usize,
    words: &[String],
    out: std::path::PathBuf,
) -> Result<Clients> {
    std::fs::create_dir(&out)?;
    let mut line = vec![programs.join("plimsoll").display().to_string()];
    line.extend_from_slice(words);
    let child = pinned(core, &line)
        .current_dir(&out)
        .stdin(Stdio::null())
        .stdout(File::create(out.join("told"))?)
        .stderr(File::create(out.join("log"))?)
        .spawn()
        .context("cannot run plimsoll")?;
    Ok(Clients { child, out })
}

/// Results of a process of clients.
fn read_report(clients: &mut Clients, limit: Duration) -> Result<Value> {
    let stopwatch = Stopwatch::start();
    while clients.child.try_wait()?.is_none() {
        ensure!(stopwatch.elapsed() <= limit, "the clients do not end");
        pause(Duration::from_millis(50));
    }
    let text = std::fs::read_to_string(clients.out.join("told"))?;
    serde_json::from_str(&text).with_context(|| {
        let log = std::fs::read_to_string(clients.out.join("log")).unwrap_or_default();
        format!("no result: {}", log.trim())
    })
}

fn of_sockets(report: &Value) -> Result<RegionResult> {
    let websocket = &report["websocket"];
    let count = |name: &str| {
        websocket[name]
            .as_u64()
            .with_context(|| format!("no {name} is reported"))
    };
    Ok(RegionResult {
        connected: count("connected")?,
        failed: count("failed")? + count("closed")?,
        answered: count("answered")?,
        unanswered: count("unanswered")?,
        broadcasts: count("received")?,
        handshake: times(&websocket["handshake_ms"]),
        request: times(&websocket["request_ms"]),
        broadcast: times(&websocket["broadcast_ms"]),
    })
}

fn of_requests(report: &Value, result: &mut RegionResult) -> Result<()> {
    let outcomes = report["outcomes"]
        .as_object()
        .context("no outcomes are reported")?;
    let all: u64 = outcomes.values().filter_map(Value::as_u64).sum();
    result.answered = outcomes.get("ok").and_then(Value::as_u64).unwrap_or(0);
    result.unanswered = all - result.answered;
    result.request = times(&report["response_time_ms"]);
    Ok(())
}

fn times(report: &Value) -> Option<TimeStats> {
    Some(TimeStats {
        mean: report["mean"].as_f64()?,
        p99: report["p99"].as_f64()?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_not_seen_is_no_time() {
        let times = json!({ "mean": 2.0, "p99": 5.0 });
        let none = json!({ "mean": null, "p99": null });
        let report = json!({ "websocket": {
            "connected": 60, "failed": 1, "closed": 2, "answered": 7, "unanswered": 3, "received": 9,
            "handshake_ms": times, "request_ms": none, "broadcast_ms": times,
        }});
        let mut result = of_sockets(&report).unwrap();
        assert_eq!(
            (result.connected, result.failed, result.request),
            (60, 3, None)
        );
        let report = json!({ "outcomes": { "ok": 5, "timeout": 2 }, "response_time_ms": times });
        of_requests(&report, &mut result).unwrap();
        assert_eq!((result.answered, result.unanswered), (5, 2));
        assert_eq!(result.request, result.handshake);
        assert!(of_sockets(&json!({})).is_err());
    }
}
