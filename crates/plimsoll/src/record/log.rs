//! The recording so far.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use plimsoll_import::recording::{RecordedExchange, Recording};

use super::clock::RecordingClock;

/// Maximum number of requests kept per visit.
const EXCHANGES_MAX: usize = 20_000;
/// Maximum bytes of bodies kept per visit.
const BODIES_LEN_MAX: usize = 512 << 20;
/// Maximum number of refused hosts that are listed.
const REFUSED_NAMED_MAX: usize = 50;
/// Maximum number of other hosts that are counted.
const HOSTS_MAX: usize = 5_000;

/// Requests and responses with their times.
#[derive(Debug)]
pub(super) struct ExchangeLog {
    clock: RecordingClock,
    state: Mutex<LogState>,
}

#[derive(Debug, Default)]
struct LogState {
    recording: Recording,
    bodies_len: usize,
    beyond: usize,
    /// Refused hosts.
    refused: BTreeSet<String>,
}

impl ExchangeLog {
    pub(super) fn new() -> Self {
        Self {
            clock: RecordingClock::start(),
            state: Mutex::default(),
        }
    }

    /// The state, which stays consistent even when a thread panicked while holding its lock.
    fn state(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Milliseconds since the recording began.
    pub(super) fn now_ms(&self) -> f64 {
        self.clock.ms()
    }

    pub(super) fn add(&self, mut exchange: RecordedExchange) {
        let mut state = self.state();
        if state.recording.exchanges.len() >= EXCHANGES_MAX {
            state.beyond += 1;
            return;
        }
        state.bodies_len += exchange.content.as_ref().map_or(0, String::len);
        if state.bodies_len > BODIES_LEN_MAX {
            exchange.content = None;
        }
        state.recording.exchanges.push(exchange);
    }

    /// Counts a connection or request that was not recorded.
    pub(super) fn pass(&self, host: &str) {
        let mut state = self.state();
        if state.recording.unrecorded_hosts.len() < HOSTS_MAX {
            state.recording.unrecorded_hosts.push(host.to_owned());
        }
    }

    /// Counts a refusal; returns whether it is the first for this host.
    pub(super) fn refuse(&self, host: &str) -> bool {
        self.pass(host);
        let mut state = self.state();
        state.refused.len() < REFUSED_NAMED_MAX && state.refused.insert(host.to_owned())
    }

    /// The recording, in the order in which requests began.
    pub(super) fn recording(&self) -> Recording {
        let mut state = self.state();
        let mut recording = std::mem::take(&mut state.recording);
        if state.beyond > 0 {
            let problem = format!(
                "{} requests beyond the first {EXCHANGES_MAX} left out",
                state.beyond
            );
            recording.problems.push(problem);
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
