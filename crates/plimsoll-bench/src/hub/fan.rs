//! Fan-out: cost, latency and reach of messages to all subscribers.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::child::{pinned, weigh};
use serde_json::Value;

use super::hubs::{HubKind, HubPrograms, RunningHub, edge};
use super::order::message;
use crate::context::BenchContext;
use crate::page::shown;

/// Bytes of each message as it is published.
pub(super) const MESSAGE_LEN: usize = 200;
/// Handshakes per second, which every hub here sustains.
const CONNECTS_PER_S: u32 = 4_000;
/// From the last handshake to the first message.
const SETTLE: Duration = Duration::from_secs(2);
/// From the last message to the end: messages of a subscriber's last second are not judged.
const AFTER: Duration = Duration::from_secs(3);
/// How exactly messages are published at their moments.
const POLL: Duration = Duration::from_millis(5);
/// Interval of conflation.
pub(super) const INTERVAL_MS: u32 = 250;

/// What is published, and to how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fan {
    pub(super) subscribers: u32,
    /// Messages a second.
    pub(super) per_second: u32,
    /// How long the hub gets to work off what it was given, beyond the publishing itself.
    pub(super) rest: Duration,
}

/// One run.
#[derive(Clone, Debug)]
pub(super) struct FanOutRun {
    pub(super) deliveries: u64,
    pub(super) cpu: Duration,
    /// While the hub was looked at.
    pub(super) wall: Duration,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    pub(super) reach: f64,
    /// Publications that were refused because the hub was behind.
    pub(super) refused: u32,
    pub(super) command: String,
}

impl FanOutRun {
    pub(super) fn cpu_us_per_delivery(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / (self.deliveries as f64).max(1.0)
    }

    pub(super) fn busy(&self) -> f64 {
        self.cpu.as_secs_f64() / self.wall.as_secs_f64()
    }
}

/// Runs one hub, which is started for it.
pub(super) fn measure(
    ground: &BenchContext,
    programs: &HubPrograms,
    hub: HubKind,
    fan: Fan,
) -> Result<FanOutRun> {
    let running = hub.start(programs, ground.server_core)?;
    load(ground, programs, &running, hub, fan)
}

/// Our edge with conflation or without.
pub(super) fn conflated(
    ground: &BenchContext,
    programs: &HubPrograms,
    interval_ms: Option<u32>,
    fan: Fan,
) -> Result<FanOutRun> {
    let rule = interval_ms.map_or_else(String::new, |interval| {
        format!(", channels: [{{ match: all, interval: {interval}ms, history: 1 }}]")
    });
    let running = edge(
        programs,
        ground.server_core,
        &format!("{{ path: /live{rule} }}"),
    )?;
    load(ground, programs, &running, HubKind::Plimsoll, fan)
}

/// The words of the load side.
pub(super) fn words(
    programs: &HubPrograms,
    url: &str,
    hub: HubKind,
    subscribers: u32,
    hold: Duration,
    warmup: Duration,
) -> Vec<String> {
    let marks = hub.marks();
    let line = format!(
        "{} run {url} --ws --connections {subscribers} --connect-rate {CONNECTS_PER_S}/s --hold {}ms --warmup {}ms \
         --broadcast-stamp {} --broadcast-seq {} --cores 1 --json",
        programs.plimsoll.display(),
        hold.as_millis(),
        warmup.as_millis(),
        marks.timestamp,
        marks.sequence,
    );
    let mut words: Vec<String> = line.split_whitespace().map(ToOwned::to_owned).collect();
    if let Some(text) = hub.subscription() {
        words.extend(["--send".to_owned(), text.to_owned()]);
    }
    words
}

/// How long it takes until all are connected.
pub(super) fn connecting(subscribers: u32) -> Duration {
    Duration::from_secs_f64(f64::from(subscribers) / f64::from(CONNECTS_PER_S))
}

fn load(
    ground: &BenchContext,
    programs: &HubPrograms,
    running: &RunningHub,
    hub: HubKind,
    fan: Fan,
) -> Result<FanOutRun> {
    let publishing = Duration::from_secs(ground.seconds.into());
    // The first message is not looked at: it finds everything cold.
    let first = connecting(fan.subscribers) + SETTLE;
    let begin = first + Duration::from_secs(1);
    let cold = begin.saturating_sub(Duration::from_millis(50));
    let end = begin + publishing + fan.rest;
    let hold = (end + AFTER).saturating_sub(connecting(fan.subscribers));
    let warmup = first + Duration::from_millis(500);
    let words = words(programs, &running.url(), hub, fan.subscribers, hold, warmup);
    let mut command = pinned(ground.client_core, &words);
    command.current_dir(ground.folder.path());
    let mut publisher = Publisher::new(running, fan.per_second, first, begin, publishing);
    let mut cpu_samples = (None, None);
    let weighed = weigh(command, &[6], POLL, |_, elapsed| {
        if cpu_samples.0.is_none() && elapsed >= cold {
            cpu_samples.0 = Some(running.cpu().map(|cpu| (cpu, elapsed)));
        }
        publisher.publish_what_is_due(elapsed);
        if cpu_samples.1.is_none() && elapsed >= end {
            cpu_samples.1 = Some(running.cpu().map(|cpu| (cpu, elapsed)));
        }
    })?;
    let (refused, _) = publisher.finish()?;
    let from = cpu_samples.0.context("the load ended before it began")??;
    let to = cpu_samples.1.context("the load ended too early")??;
    let report: Value = serde_json::from_str(&weighed.stdout)?;
    let mut run = read(&report, fan.subscribers)?;
    run.cpu = to.0.saturating_sub(from.0);
    run.wall = to.1.saturating_sub(from.1);
    run.refused = refused;
    // The first message is no part of what was looked at.
    run.deliveries = run.deliveries.saturating_sub(fan.subscribers.into());
    run.command = shown(&words, &[(&running.url(), "URL")]);
    Ok(run)
}

/// Results of the load generator; all subscribers must have been connected to the end.
pub(super) fn read(report: &Value, subscribers: u32) -> Result<FanOutRun> {
    let websocket = &report["websocket"];
    let count = |name: &str| {
        websocket[name]
            .as_u64()
            .with_context(|| format!("the load side tells no {name}"))
    };
    let (connected, closed) = (count("connected")?, count("closed")?);
    ensure!(
        connected == u64::from(subscribers) && closed == 0,
        "{connected} of {subscribers} connected, {closed} were closed; failures: {}, close codes: {}",
        websocket["failures"],
        websocket["close_codes"]
    );
    let time = |name: &str| {
        websocket["broadcast_ms"][name]
            .as_f64()
            .with_context(|| format!("the load side tells no {name} of broadcasts"))
    };
    Ok(FanOutRun {
        deliveries: count("messages_in")?,
        cpu: Duration::ZERO,
        wall: Duration::ZERO,
        p50_ms: time("p50")?,
        p99_ms: time("p99")?,
        reach: websocket["reach"]
            .as_f64()
            .context("nothing was expected")?,
        refused: 0,
        command: String::new(),
    })
}

/// Publishes one message to warm up, and then evenly for a while.
pub(super) struct Publisher<'a> {
    running: &'a RunningHub,
    every: Duration,
    first: Duration,
    begin: Duration,
    until: Duration,
    number: u32,
    refused: u32,
    error: Option<anyhow::Error>,
}

impl<'a> Publisher<'a> {
    pub(super) fn new(
        running: &'a RunningHub,
        per_second: u32,
        first: Duration,
        begin: Duration,
        lasting: Duration,
    ) -> Self {
        Self {
            running,
            every: Duration::from_secs(1) / per_second,
            first,
            begin,
            until: begin + lasting,
            number: 0,
            refused: 0,
            error: None,
        }
    }

    fn due(&self) -> Duration {
        match self.number {
            0 => self.first,
            number => self.begin + self.every * (number - 1),
        }
    }

    pub(super) fn publish_what_is_due(&mut self, elapsed: Duration) {
        while self.error.is_none() && self.due() <= elapsed && self.due() < self.until {
            self.number += 1;
            match self.running.publish(&message(self.number, MESSAGE_LEN)) {
                Ok(200..300) => {}
                Ok(503) => self.refused += 1,
                Ok(status) => {
                    self.error = Some(anyhow::anyhow!("a publication was answered {status}"));
                }
                Err(error) => self.error = Some(error.context("a publication failed")),
            }
        }
    }

    /// Publications that were refused, and how many there were.
    pub(super) fn finish(self) -> Result<(u32, u32)> {
        match self.error {
            Some(error) => Err(error),
            None => Ok((self.refused, self.number)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_not_there_to_the_end_makes_it_no_measurement() {
        let report = |connected: u32, closed: u32| {
            serde_json::json!({ "websocket": {
                "connected": connected, "closed": closed, "messages_in": 30, "reach": 1.0,
                "broadcast_ms": { "p50": 1.0, "p99": 2.5 },
            }})
        };
        let run = read(&report(10, 0), 10).unwrap();
        assert_eq!((run.deliveries, run.p99_ms), (30, 2.5));
        assert!(read(&report(9, 0), 10).is_err());
        assert!(read(&report(10, 1), 10).is_err());
        assert!(read(&serde_json::json!({}), 10).is_err());
    }
}
