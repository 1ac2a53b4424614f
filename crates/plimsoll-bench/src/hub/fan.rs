//! Fan-out: cost, latency and reach of messages to all subscribers.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::definition::Chapter;
use plimsoll_harness::page::shown;
use plimsoll_harness::run_report::RunReport;
use plimsoll_harness::sample::Sample;

use super::RunningHub;
use super::order::message;
use crate::bench::{Bench, us_each};

/// Bytes of each message as it is published.
const MESSAGE_LEN: usize = 200;
/// Handshakes a second, as in the data file.
const CONNECTS_PER_S: f64 = 4_000.0;
/// From the last handshake to the first message.
const SETTLE: Duration = Duration::from_secs(2);
/// From the last message to the end: messages of a subscriber's last second are not judged.
const AFTER: Duration = Duration::from_secs(3);
/// How exactly messages are published at their moments.
const POLL: Duration = Duration::from_millis(5);

/// Runs one hub, which is started for it.
pub(super) fn measure(bench: &Bench, chapter: &Chapter, subject: &str) -> Result<Sample> {
    let hub = RunningHub::start(bench, chapter, subject)?;
    let subscribers: u32 = chapter.number("subscribers")?;
    let publishing = Duration::from_secs(bench.seconds.into());
    // How long the hub gets to work off what it was given; negative: as long as is published.
    let rest =
        u64::try_from(chapter.number::<i64>("rest_s")?).map_or(publishing, Duration::from_secs);
    // The first message is not looked at: it finds everything cold.
    let first = connecting(subscribers) + SETTLE;
    let begin = first + Duration::from_secs(1);
    let cold = begin.saturating_sub(Duration::from_millis(50));
    let end = begin + publishing + rest;
    let hold = (end + AFTER).saturating_sub(connecting(subscribers));
    let warmup = first + Duration::from_millis(500);
    let words = words(bench, chapter, &hub, (hold, warmup))?;
    let per_second = chapter.number("per_second")?;
    let mut publisher = Publisher::new(&hub, per_second, first, begin, publishing);
    let mut samples = (None, None);
    let weighed = bench.weigh(&words, POLL, |_, elapsed| {
        let cpu = || hub.server.run_time().map(|cpu| (cpu, elapsed));
        if samples.0.is_none() && elapsed >= cold {
            samples.0 = Some(cpu());
        }
        publisher.publish_what_is_due(elapsed);
        if samples.1.is_none() && elapsed >= end {
            samples.1 = Some(cpu());
        }
    })?;
    let refused = publisher.finish()?;
    let from = samples.0.context("the load ended before it began")??;
    let to = samples.1.context("the load ended too early")??;
    let cpu = to.0.saturating_sub(from.0);
    let wall = to.1.saturating_sub(from.1).as_secs_f64();
    let command = shown(&words, &[(&hub.url(), "URL")]);
    let sample = read(&RunReport::parse(&weighed.stdout)?, subscribers, command)?;
    // The first message is no part of what was looked at.
    let received = sample.number("received").unwrap_or(0.0);
    let deliveries = (received - f64::from(subscribers)).max(0.0);
    Ok(sample
        .with("deliveries", deliveries)
        .with("refused", refused.into())
        .with("cpu_s", cpu.as_secs_f64())
        .with("cpu_us", us_each(cpu, deliveries))
        .with("busy", cpu.as_secs_f64() / wall * 100.0))
}

/// The words of the load side, which stays for a while and does not look at the beginning.
pub(super) fn words(
    bench: &Bench,
    chapter: &Chapter,
    hub: &RunningHub,
    (hold, warmup): (Duration, Duration),
) -> Result<Vec<String>> {
    let values = bench.values(chapter).with("url", hub.url());
    let values = values
        .with("hold", hold.as_millis())
        .with("warmup", warmup.as_millis());
    let client = if hub.is_ours { "plimsoll" } else { "peer" };
    bench.definition.client(client, "live", &values)
}

/// How long it takes until all are connected.
pub(super) fn connecting(subscribers: u32) -> Duration {
    Duration::from_secs_f64(f64::from(subscribers) / CONNECTS_PER_S)
}

/// Results of the load generator; all subscribers must have been connected to the end.
pub(super) fn read(report: &RunReport, subscribers: u32, command: String) -> Result<Sample> {
    let count = |name: &str| report.count(&format!("websocket.{name}"));
    let (connected, closed) = (count("connected")?, count("closed")?);
    ensure!(
        connected == u64::from(subscribers) && closed == 0,
        "{connected} of {subscribers} connected, {closed} were closed; failures: {}, close codes: {}",
        report.value("websocket.failures"),
        report.value("websocket.close_codes")
    );
    Ok(Sample::of(command)
        .with("received", count("messages_in")? as f64)
        .with("p50_ms", report.number("websocket.broadcast_ms.p50")?)
        .with("p99_ms", report.number("websocket.broadcast_ms.p99")?)
        .with("reach", report.number("websocket.reach")? * 100.0))
}

/// Publishes one message to warm up, and then evenly for a while.
pub(super) struct Publisher<'a> {
    hub: &'a RunningHub,
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
        hub: &'a RunningHub,
        per_second: u32,
        first: Duration,
        begin: Duration,
        lasting: Duration,
    ) -> Self {
        Self {
            hub,
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
            match self.hub.publish(&message(self.number, MESSAGE_LEN)) {
                Ok(200..300) => {}
                Ok(503) => self.refused += 1,
                Ok(status) => {
                    self.error = Some(anyhow::anyhow!("a publication was answered {status}"));
                }
                Err(error) => self.error = Some(error.context("a publication failed")),
            }
        }
    }

    /// Publications that were refused because the hub was behind.
    pub(super) fn finish(self) -> Result<u32> {
        self.error.map_or(Ok(self.refused), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_not_there_to_the_end_makes_it_no_measurement() {
        let report = |connected: u32, closed: u32| {
            let json = serde_json::json!({ "websocket": {
                "connected": connected, "closed": closed, "messages_in": 30, "reach": 1.0,
                "broadcast_ms": { "p50": 1.0, "p99": 2.5 },
            }});
            read(
                &RunReport::parse(&json.to_string()).unwrap(),
                10,
                String::new(),
            )
        };
        let sample = report(10, 0).unwrap();
        assert_eq!(
            (sample.number("received"), sample.number("p99_ms")),
            (Some(30.0), Some(2.5))
        );
        assert!(report(9, 0).is_err());
        assert!(report(10, 1).is_err());
        assert!(read(&RunReport::parse("{}").unwrap(), 10, String::new()).is_err());
    }
}
