//! A tenth of the subscribers stop reading: effects on the others, on memory, and on those.

use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::child::{pinned, weigh};
use plimsoll_harness::clock::{Stopwatch, pause};
use plimsoll_harness::request::post;
use rustix::process::{Pid, Signal, kill_process};

use super::fan::{Publisher, connecting, read, words};
use super::hubs::{HubKind, HubPrograms, RunningHub, edge};
use super::order::message;
use crate::context::BenchContext;

pub(super) const READERS: u32 = 9_000;
pub(super) const STOPPED: u32 = 1_000;
/// Messages that only the stopped subscribe to, so that what the kernel holds for them fills up.
const FILL_LEN: usize = 60_000;
const FILL_MAX: u32 = 100;
const FILL_EVERY: Duration = Duration::from_millis(100);
/// Maximum buffered for one client, with its own message beside it.
pub(super) const WAITING_MAX: u64 = (256 << 10) + 70_000;
/// Longest that filling takes.
const FILL: Duration = Duration::from_secs(12);
const SETTLE: Duration = Duration::from_secs(2);
const AFTER: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(5);

/// The hub's policy for slow subscribers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlowPolicy {
    /// They go on reading, for comparison.
    Reading,
    Newest,
    Disconnect,
}

impl SlowPolicy {
    pub(super) const ALL: [Self; 3] = [Self::Reading, Self::Newest, Self::Disconnect];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Reading => "all read",
            Self::Newest => "1,000 stopped, `slow: newest`",
            Self::Disconnect => "1,000 stopped, `slow: disconnect`",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Reading | Self::Newest => "newest",
            Self::Disconnect => "disconnect",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct SlowReaderRun {
    pub(super) p99_ms: f64,
    pub(super) reach: f64,
    /// By how much the edge's memory grew while the stopped did not read, bytes.
    pub(super) grown: u64,
    /// By how much the kernel's memory for all TCP connections of the machine grew meanwhile, bytes.
    pub(super) kernel_grown: u64,
    /// Messages that were dropped for the stopped, and how many of them were disconnected.
    pub(super) dropped: f64,
    pub(super) disconnected: f64,
}

/// The stopped subscribers, in a separate process that can be suspended.
struct Others {
    child: Child,
}

impl Others {
    fn freeze(&self) -> Result<()> {
        let pid = Pid::from_raw(i32::try_from(self.child.id())?).context("it has a process id")?;
        Ok(kill_process(pid, Signal::STOP)?)
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn measure(
    ground: &BenchContext,
    programs: &HubPrograms,
    policy: SlowPolicy,
) -> Result<SlowReaderRun> {
    let hub = format!(
        "{{ path: /live, slow: {}, ping: 10m, channels: [{{ match: fill, history: 0 }}] }}",
        policy.word()
    );
    let running = edge(programs, ground.server_core, &hub)?;
    let publishing = Duration::from_secs(ground.seconds.into());
    let first = connecting(READERS) + SETTLE + FILL;
    let begin = first + Duration::from_secs(1);
    let end = begin + publishing;
    let hold = (end + AFTER).saturating_sub(connecting(READERS));
    // They must not go before the others, who come later.
    let others = start_others(ground, programs, &running, hold * 2)?;
    let warmup = first + Duration::from_millis(500);
    let words = words(
        programs,
        &running.url(),
        HubKind::Plimsoll,
        READERS,
        hold,
        warmup,
    );
    let mut command = pinned(ground.client_core, &words);
    command.current_dir(ground.folder.path());
    let mut publisher = Publisher::new(&running, 1, first, begin, publishing);
    let mut fill = Fill::new(connecting(READERS) + SETTLE, first);
    let mut sampled = None;
    let weighed = weigh(command, &[6], POLL, |_, elapsed| {
        fill.step(&running, &others, policy, elapsed);
        publisher.publish_what_is_due(elapsed);
        if sampled.is_none() && elapsed >= end {
            sampled = Some(sample(&running));
        }
    })?;
    publisher.finish()?;
    let (before, kernel_before) = fill.finish()?;
    let ((memory, kernel), dropped, disconnected) =
        sampled.context("the load ended too early")??;
    let result = read(&serde_json::from_str(&weighed.stdout)?, READERS)?;
    Ok(SlowReaderRun {
        p99_ms: result.p99_ms,
        reach: result.reach,
        grown: memory.saturating_sub(before),
        kernel_grown: kernel.saturating_sub(kernel_before),
        dropped,
        disconnected,
    })
}

/// Memory of the hub, and the kernel's for TCP, bytes.
fn memory(running: &RunningHub) -> Result<(u64, u64)> {
    let sockstat = std::fs::read_to_string("/proc/net/sockstat")?;
    let pages = tcp_pages(&sockstat).context("/proc/net/sockstat tells no memory of TCP")?;
    Ok((running.memory()?, pages * rustix::param::page_size() as u64))
}

/// `TCP: inuse 5 orphan 0 tw 0 alloc 7 mem 3`: pages.
fn tcp_pages(sockstat: &str) -> Option<u64> {
    let line = sockstat
        .lines()
        .find_map(|line| line.strip_prefix("TCP: "))?;
    let mut words = line.split_whitespace().skip_while(|word| *word != "mem");
    words.nth(1)?.parse().ok()
}

fn sample(running: &RunningHub) -> Result<((u64, u64), f64, f64)> {
    let metric = |name: &str| running.metric(&format!("plimsoll_edge_hub_{name}_total"));
    Ok((
        memory(running)?,
        metric("dropped")?,
        metric("disconnected")?,
    ))
}

/// Starts the others, and waits until they subscribe.
fn start_others(
    ground: &BenchContext,
    programs: &HubPrograms,
    running: &RunningHub,
    hold: Duration,
) -> Result<Others> {
    let mut words = words(
        programs,
        &running.url(),
        HubKind::Plimsoll,
        STOPPED,
        hold,
        Duration::ZERO,
    );
    words.pop();
    words.push(r#"{"subscribe":["all","fill"]}"#.to_owned());
    let folder = running.folder.path().join("others");
    std::fs::create_dir(&folder)?;
    let child = pinned(ground.client_core, &words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot run the other readers")?;
    let others = Others { child };
    let stopwatch = Stopwatch::start();
    while running.metric("plimsoll_edge_hub_connections")? < f64::from(STOPPED) {
        ensure!(
            stopwatch.elapsed() < Duration::from_secs(20),
            "the other readers did not connect"
        );
        pause(Duration::from_millis(50));
    }
    Ok(others)
}

/// Stops the others, and publishes what only they subscribe to until nothing more goes into their sockets.
struct Fill {
    begin: Duration,
    end: Duration,
    count: u32,
    is_full: bool,
    before: Option<Result<(u64, u64)>>,
    error: Option<anyhow::Error>,
}

impl Fill {
    fn new(begin: Duration, end: Duration) -> Self {
        Self {
            begin,
            end,
            count: 0,
            is_full: false,
            before: None,
            error: None,
        }
    }

    fn step(
        &mut self,
        running: &RunningHub,
        others: &Others,
        policy: SlowPolicy,
        elapsed: Duration,
    ) {
        let is_due = elapsed >= self.begin + FILL_EVERY * self.count;
        if !is_due || elapsed >= self.end || self.is_full || self.error.is_some() {
            return;
        }
        if let Err(error) = self.publish(running, others, policy) {
            self.error = Some(error);
        }
    }

    fn publish(&mut self, running: &RunningHub, others: &Others, policy: SlowPolicy) -> Result<()> {
        if self.before.is_none() {
            if policy != SlowPolicy::Reading {
                others.freeze()?;
            }
            self.before = Some(memory(running));
        }
        self.count += 1;
        let data = message(self.count, FILL_LEN);
        let body = format!(r#"{{"channel":"fill","data":{data}}}"#);
        let status = post(running.publish_port, "/publish", &body)?.status;
        ensure!(status == 200, "a long message was answered {status}");
        let treated = |name: &str| running.metric(&format!("plimsoll_edge_hub_{name}_total"));
        self.is_full = match policy {
            SlowPolicy::Reading => self.count >= 10,
            // Several for each of them.
            SlowPolicy::Newest => treated("dropped")? >= f64::from(STOPPED) * 3.0,
            SlowPolicy::Disconnect => treated("disconnected")? >= f64::from(STOPPED),
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
