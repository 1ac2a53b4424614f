//! What was seen so far.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use plimsoll_import::recording::{Exchange, Recording};

use super::clock::Clock;

/// Most requests that are kept of a visit.
const EXCHANGES_MAX: usize = 20_000;
/// Most bytes of bodies that are kept of a visit.
const BODIES_LEN_MAX: usize = 512 << 20;
/// Most refused hosts that are named.
const REFUSED_TOLD_MAX: usize = 50;
/// Most foreign hosts that are counted.
const HOSTS_MAX: usize = 5_000;

/// Requests and answers, and when they were.
#[derive(Debug)]
pub(super) struct Log {
    clock: Clock,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    recording: Recording,
    bodies_len: usize,
    beyond: usize,
    /// Hosts that were not asked.
    refused: BTreeSet<String>,
}

impl Log {
    pub(super) fn new() -> Self {
        Self {
            clock: Clock::start(),
            seen: Mutex::default(),
        }
    }

    /// Milliseconds since the recording began.
    pub(super) fn now_ms(&self) -> f64 {
        self.clock.ms()
    }

    pub(super) fn add(&self, mut exchange: Exchange) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.recording.exchanges.len() >= EXCHANGES_MAX {
            seen.beyond += 1;
            return;
        }
        seen.bodies_len += exchange.content.as_ref().map_or(0, String::len);
        if seen.bodies_len > BODIES_LEN_MAX {
            exchange.content = None;
        }
        seen.recording.exchanges.push(exchange);
    }

    /// Counts a connection or request that was not looked into.
    pub(super) fn pass(&self, host: &str) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.recording.unseen_hosts.len() < HOSTS_MAX {
            seen.recording.unseen_hosts.push(host.to_owned());
        }
    }

    /// Counts what was refused; whether its host is one that was not refused before.
    pub(super) fn refuse(&self, host: &str) -> bool {
        self.pass(host);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.refused.len() < REFUSED_TOLD_MAX && seen.refused.insert(host.to_owned())
    }

    /// The recording, in the order in which requests began.
    pub(super) fn recording(&self) -> Recording {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut recording = std::mem::take(&mut seen.recording);
        if seen.beyond > 0 {
            let fault = format!(
                "{} requests beyond the first {EXCHANGES_MAX} left out",
                seen.beyond
            );
            recording.faults.push(fault);
        }
        recording.recorder = format!("plimsoll {}", env!("CARGO_PKG_VERSION"));
        recording.exchanges.sort_by(|a, b| {
            a.started_ms
                .partial_cmp(&b.started_ms)
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        recording
    }
}
