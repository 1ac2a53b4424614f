//! The study's clients, scaled: those of each region are a process of their own.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::region::REGIONS;
use super::stack::{Settings, Stack, Telling};
use crate::child::pinned;
use crate::clock::{Stopwatch, pause};

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
pub(super) struct Length {
    pub(super) hold_s: u32,
}

impl Length {
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
pub(super) struct Times {
    pub(super) mean: f64,
    pub(super) p99: f64,
}

/// What the clients of one region saw.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Seen {
    pub(super) connected: u64,
    pub(super) failed: u64,
    pub(super) answered: u64,
    pub(super) unanswered: u64,
    pub(super) broadcasts: u64,
    pub(super) handshake: Option<Times>,
    pub(super) request: Option<Times>,
    pub(super) broadcast: Option<Times>,
}

/// One way to run the market, and what was seen in each region.
pub(super) struct Row {
    pub(super) settings: Settings,
    pub(super) seen: Vec<Seen>,
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
    stack: &Stack,
    programs: &Path,
    core: usize,
    length: Length,
) -> Result<Vec<Seen>> {
    let folder = tempfile::tempdir()?;
    let mut all = Vec::new();
    for (place, door) in stack.doors.iter().enumerate() {
        let start = |kind: &str, words: &[String]| {
            let out = folder.path().join(format!("{kind}-{place}"));
            start(programs, core, words, out)
        };
        let listening = start("live", &live_words(*door, stack.telling, length))?;
        let predicting = (stack.telling == Telling::Hub)
            .then(|| start("predictions", &request_words(*door, length)))
            .transpose()?;
        all.push((listening, predicting));
    }
    let stopwatch = Stopwatch::start();
    let limit = Duration::from_secs(length.load_s().into()) + PATIENCE;
    let mut seen = Vec::new();
    for ((mut listening, predicting), region) in all.into_iter().zip(REGIONS) {
        let remaining = || limit.saturating_sub(stopwatch.elapsed());
        let told = told(&mut listening, remaining()).context(region.name)?;
        let mut one = of_sockets(&told)?;
        if let Some(mut predicting) = predicting {
            let told = self::told(&mut predicting, remaining()).context(region.name)?;
            of_requests(&told, &mut one)?;
        }
        seen.push(one);
    }
    Ok(seen)
}

fn live_words(door: u16, telling: Telling, length: Length) -> Vec<String> {
    let line = format!(
        "run ws://127.0.0.1:{door}/live --ws --connections {CLIENTS} --connect-rate {CONNECTS_PER_S}/s --hold {}s \
         --timeout {TIMEOUT_S}s --cores 1 --json",
        length.hold_s
    );
    let mut words: Vec<String> = line.split(' ').map(ToOwned::to_owned).collect();
    let every = format!("{EVERY_S}s");
    let more: &[&str] = match telling {
        Telling::Hub => &[
            "--send",
            r#"{"subscribe":["game-1"]}"#,
            "--broadcast-stamp",
            "$.data.time",
        ],
        Telling::AtOnce | Telling::Feed => &[
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
fn request_words(door: u16, length: Length) -> Vec<String> {
    let rate = f64::from(CLIENTS) / f64::from(EVERY_S);
    let line = format!(
        "run http://127.0.0.1:{door}/predictions --rate {rate}/s --spacing even --for {}s -d {{}} --timeout {TIMEOUT_S}s \
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

/// What a process of clients tells when it has ended.
fn told(clients: &mut Clients, limit: Duration) -> Result<Value> {
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

fn of_sockets(told: &Value) -> Result<Seen> {
    let seen = &told["websocket"];
    let count = |name: &str| {
        seen[name]
            .as_u64()
            .with_context(|| format!("no {name} is told"))
    };
    Ok(Seen {
        connected: count("connected")?,
        failed: count("failed")? + count("closed")?,
        answered: count("answered")?,
        unanswered: count("unanswered")?,
        broadcasts: count("received")?,
        handshake: times(&seen["handshake_ms"]),
        request: times(&seen["request_ms"]),
        broadcast: times(&seen["broadcast_ms"]),
    })
}

fn of_requests(told: &Value, seen: &mut Seen) -> Result<()> {
    let outcomes = told["outcomes"]
        .as_object()
        .context("no outcomes are told")?;
    let all: u64 = outcomes.values().filter_map(Value::as_u64).sum();
    seen.answered = outcomes.get("ok").and_then(Value::as_u64).unwrap_or(0);
    seen.unanswered = all - seen.answered;
    seen.request = times(&told["response_time_ms"]);
    Ok(())
}

fn times(told: &Value) -> Option<Times> {
    Some(Times {
        mean: told["mean"].as_f64()?,
        p99: told["p99"].as_f64()?,
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
        let told = json!({ "websocket": {
            "connected": 60, "failed": 1, "closed": 2, "answered": 7, "unanswered": 3, "received": 9,
            "handshake_ms": times, "request_ms": none, "broadcast_ms": times,
        }});
        let mut seen = of_sockets(&told).unwrap();
        assert_eq!((seen.connected, seen.failed, seen.request), (60, 3, None));
        let told = json!({ "outcomes": { "ok": 5, "timeout": 2 }, "response_time_ms": times });
        of_requests(&told, &mut seen).unwrap();
        assert_eq!((seen.answered, seen.unanswered), (5, 2));
        assert_eq!(seen.request, seen.handshake);
        assert!(of_sockets(&json!({})).is_err());
    }
}
