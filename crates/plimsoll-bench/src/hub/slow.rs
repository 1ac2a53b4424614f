//! A tenth of the subscribers stop reading: effects on the others, on memory, and on those.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::clock::{Stopwatch, pause};
use plimsoll_harness::definition::Chapter;
use plimsoll_harness::page::shown;
use plimsoll_harness::run_report::RunReport;
use plimsoll_harness::running::RunningServer;
use plimsoll_harness::sample::Sample;
use rustix::process::Signal;

use super::RunningHub;
use super::fan::{Publisher, connecting, read, words};
use super::order::message;
use crate::bench::{Bench, mib};

/// Messages that only the stopped subscribe to, so that what the kernel holds for them fills up.
const FILL_LEN: usize = 60_000;
const FILL_MAX: u32 = 100;
const FILL_EVERY: Duration = Duration::from_millis(100);
/// Longest that filling takes.
const FILL: Duration = Duration::from_secs(12);
const SETTLE: Duration = Duration::from_secs(2);
const AFTER: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(5);

/// `reading`: nobody stops, for comparison. Else the hub's policy for slow subscribers, `newest` or `disconnect`.
pub(super) fn measure(bench: &Bench, chapter: &Chapter, policy: &str) -> Result<Sample> {
    let slow = if policy == "reading" {
        "newest"
    } else {
        policy
    };
    let hub = format!(
        "{{ path: /live, slow: {slow}, ping: 10m, channels: [{{ match: fill, history: 0 }}] }}"
    );
    let hub = RunningHub::edge(bench, &hub)?;
    let (readers, stopped) = (chapter.number("subscribers")?, chapter.number("stopped")?);
    let publishing = Duration::from_secs(bench.seconds.into());
    let filled = connecting(readers) + SETTLE;
    let first = filled + FILL;
    let begin = first + Duration::from_secs(1);
    let end = begin + publishing;
    let hold = (end + AFTER).saturating_sub(connecting(readers));
    // They must not go before the others, who come later.
    let others = start_others(bench, chapter, &hub, (stopped, hold * 2))?;
    let warmup = first + Duration::from_millis(500);
    let words = words(bench, chapter, &hub, (hold, warmup))?;
    let mut publisher = Publisher::new(&hub, 1, first, begin, publishing);
    let mut fill = Fill::new((&hub, &others), (policy, stopped), (filled, first));
    let mut sampled = None;
    let weighed = bench.weigh(&words, POLL, |_, elapsed| {
        fill.step(elapsed);
        publisher.publish_what_is_due(elapsed);
        if sampled.is_none() && elapsed >= end {
            sampled = Some(sample(&hub));
        }
    })?;
    publisher.finish()?;
    let (before, kernel_before) = fill.finish()?;
    let ((memory, kernel), dropped, disconnected) =
        sampled.context("the load ended too early")??;
    let command = shown(&words, &[(&hub.url(), "URL")]);
    let read = read(&RunReport::parse(&weighed.stdout)?, readers, command)?;
    Ok(read
        .with("grown_mib", mib(memory.saturating_sub(before)))
        .with("kernel_mib", mib(kernel.saturating_sub(kernel_before)))
        .with("dropped", dropped)
        .with("disconnected", disconnected))
}

/// Memory of the hub, and the kernel's for TCP, bytes.
fn memory(hub: &RunningHub) -> Result<(u64, u64)> {
    let sockstat = std::fs::read_to_string("/proc/net/sockstat")?;
    let pages = tcp_pages(&sockstat).context("/proc/net/sockstat tells no memory of TCP")?;
    Ok((
        hub.server.memory()?,
        pages * rustix::param::page_size() as u64,
    ))
}

/// `TCP: inuse 5 orphan 0 tw 0 alloc 7 mem 3`: pages.
fn tcp_pages(sockstat: &str) -> Option<u64> {
    let line = sockstat
        .lines()
        .find_map(|line| line.strip_prefix("TCP: "))?;
    let mut words = line.split_whitespace().skip_while(|word| *word != "mem");
    words.nth(1)?.parse().ok()
}

fn sample(hub: &RunningHub) -> Result<((u64, u64), f64, f64)> {
    Ok((
        memory(hub)?,
        treated(hub, "dropped")?,
        treated(hub, "disconnected")?,
    ))
}

fn treated(hub: &RunningHub, name: &str) -> Result<f64> {
    hub.metric(&format!("plimsoll_edge_hub_{name}_total"))
}

/// Starts the others, in a separate process that can be suspended, and waits until they subscribe.
fn start_others(
    bench: &Bench,
    chapter: &Chapter,
    hub: &RunningHub,
    (count, hold): (u32, Duration),
) -> Result<RunningServer> {
    let values = bench.values(chapter).with("url", hub.url());
    let values = values.with("hold", hold.as_millis());
    let others = bench.start("others", bench.client_core, &values)?;
    let stopwatch = Stopwatch::start();
    while hub.metric("plimsoll_edge_hub_connections")? < f64::from(count) {
        ensure!(
            stopwatch.elapsed() < Duration::from_secs(20),
            "the other readers did not connect"
        );
        pause(Duration::from_millis(50));
    }
    Ok(others)
}

/// Stops the others, and publishes what only they subscribe to until nothing more goes into their sockets.
struct Fill<'a> {
    hub: &'a RunningHub,
    others: &'a RunningServer,
    policy: &'a str,
    stopped: f64,
    begin: Duration,
    end: Duration,
    count: u32,
    is_full: bool,
    before: Option<Result<(u64, u64)>>,
    error: Option<anyhow::Error>,
}

impl<'a> Fill<'a> {
    fn new(
        (hub, others): (&'a RunningHub, &'a RunningServer),
        (policy, stopped): (&'a str, u32),
        (begin, end): (Duration, Duration),
    ) -> Self {
        Self {
            hub,
            others,
            policy,
            stopped: stopped.into(),
            begin,
            end,
            count: 0,
            is_full: false,
            before: None,
            error: None,
        }
    }

    fn step(&mut self, elapsed: Duration) {
        let is_due = elapsed >= self.begin + FILL_EVERY * self.count;
        if is_due && elapsed < self.end && !self.is_full && self.error.is_none() {
            self.error = self.publish().err();
        }
    }

    fn publish(&mut self) -> Result<()> {
        if self.before.is_none() {
            if self.policy != "reading" {
                self.others.signal(Signal::STOP)?;
            }
            self.before = Some(memory(self.hub));
        }
        self.count += 1;
        let status = self
            .hub
            .publish_to("fill", &message(self.count, FILL_LEN))?;
        ensure!(status == 200, "a long message was answered {status}");
        self.is_full = match self.policy {
            "reading" => self.count >= 10,
            // Several for each of them.
            "newest" => treated(self.hub, "dropped")? >= self.stopped * 3.0,
            _ => treated(self.hub, "disconnected")? >= self.stopped,
        } || self.count >= FILL_MAX;
        Ok(())
    }

    /// The edge's memory before, and the kernel's.
    fn finish(self) -> Result<(u64, u64)> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.before.context("nothing was filled")?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_tcp_are_read() {
        let sockstat =
            "sockets: used 9\nTCP: inuse 5 orphan 0 tw 2 alloc 7 mem 31\nUDP: inuse 1 mem 4\n";
        assert_eq!(tcp_pages(sockstat), Some(31));
        assert_eq!(tcp_pages("UDP: inuse 1 mem 4\n"), None);
    }
}
