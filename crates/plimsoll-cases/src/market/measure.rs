//! The study's clients, scaled down: one process per region.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::clock::{Stopwatch, pause};
use plimsoll_harness::run_report::RunReport;
use plimsoll_harness::running::RunningServer;
use plimsoll_harness::template::Values;

use super::region::REGIONS;
use super::stack::{Delivery, MarketSettings, MarketStack};

/// Clients of each region.
pub(super) const CLIENTS: u32 = 60;
/// Of each region; the study's 120 a second for 24,000 clients, with the time they had beside it.
const CONNECTS_PER_S: u32 = 6;
/// A client predicts every 1 to 30 s in the study; here always after as long.
pub(super) const EVERY_S: u32 = 15;
/// After which an answer counts as none.
const TIMEOUT_S: u32 = 15;
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

    /// What clients are told, and what the page says of them.
    pub(super) fn values(self) -> Values {
        let all_clients = CLIENTS as usize * REGIONS.len();
        Values::default()
            .with("clients", CLIENTS)
            .with("all_clients", all_clients)
            .with("connects_per_s", CONNECTS_PER_S)
            .with("connecting_s", CLIENTS / CONNECTS_PER_S)
            .with("hold_s", self.hold_s)
            .with("load_s", self.load_s())
            .with("every_s", EVERY_S)
            .with("timeout_s", TIMEOUT_S)
            .with("rate", f64::from(CLIENTS) / f64::from(EVERY_S))
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

/// Lets the clients of all regions come, predict and listen.
pub(super) fn run(stack: &MarketStack<'_>, length: HoldTime) -> Result<Vec<RegionResult>> {
    let is_hub = stack.delivery == Delivery::Hub;
    let values = length.values().with("hub", if is_hub { "yes" } else { "" });
    let mut all = Vec::new();
    for (place, port) in stack.client_ports.iter().enumerate() {
        let start = |kind: &str| {
            let folder = stack.folder.path().join(format!("{kind}-{place}"));
            std::fs::create_dir(&folder)?;
            let values = values.clone().with("to", port);
            stack
                .case
                .start((kind, "clients"), &folder, Some(stack.core), &values)
        };
        let listening = start("live")?;
        all.push((listening, is_hub.then(|| start("predictions")).transpose()?));
    }
    let stopwatch = Stopwatch::start();
    let limit = Duration::from_secs(length.load_s().into()) + PATIENCE;
    let mut results = Vec::new();
    for ((listening, predicting), region) in all.into_iter().zip(REGIONS) {
        let remaining = || limit.saturating_sub(stopwatch.elapsed());
        let report = read_report(listening, remaining()).context(region.name)?;
        let mut result = of_sockets(&report)?;
        if let Some(predicting) = predicting {
            let report = read_report(predicting, remaining()).context(region.name)?;
            of_requests(&report, &mut result)?;
        }
        results.push(result);
    }
    Ok(results)
}

/// Results of a process of clients.
fn read_report(mut clients: RunningServer, limit: Duration) -> Result<RunReport> {
    let stopwatch = Stopwatch::start();
    while clients.check().is_ok() {
        ensure!(stopwatch.elapsed() <= limit, "the clients do not end");
        pause(Duration::from_millis(50));
    }
    RunReport::within(&std::fs::read_to_string(
        clients.folder().join("clients.log"),
    )?)
}

fn of_sockets(report: &RunReport) -> Result<RegionResult> {
    let count = |name: &str| report.count(&format!("websocket.{name}"));
    Ok(RegionResult {
        connected: count("connected")?,
        failed: count("failed")? + count("closed")?,
        answered: count("answered")?,
        unanswered: count("unanswered")?,
        broadcasts: count("received")?,
        handshake: times(report, "websocket.handshake_ms"),
        request: times(report, "websocket.request_ms"),
        broadcast: times(report, "websocket.broadcast_ms"),
    })
}

fn of_requests(report: &RunReport, result: &mut RegionResult) -> Result<()> {
    let (good, all) = report.outcomes()?;
    result.answered = good;
    result.unanswered = all - good;
    result.request = times(report, "response_time_ms");
    Ok(())
}

fn times(report: &RunReport, path: &str) -> Option<TimeStats> {
    Some(TimeStats {
        mean: report.known(&format!("{path}.mean"))?,
        p99: report.known(&format!("{path}.p99"))?,
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
        let parse = |report: serde_json::Value| RunReport::parse(&report.to_string()).unwrap();
        let mut result = of_sockets(&parse(report)).unwrap();
        assert_eq!(
            (result.connected, result.failed, result.request),
            (60, 3, None)
        );
        let report = json!({ "outcomes": { "ok": 5, "timeout": 2 }, "response_time_ms": times });
        of_requests(&parse(report), &mut result).unwrap();
        assert_eq!((result.answered, result.unanswered), (5, 2));
        assert_eq!(result.request, result.handshake);
        assert!(of_sockets(&parse(json!({}))).is_err());
    }
}
