//! One second of results. Windows of several loops merge by adding.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bodies::Bodies;
use crate::histogram::Histogram;
use crate::journey::{StepId, StepInfo};
use crate::outcome::{Outcome, OutcomeCounts};
use crate::websocket::WebSocketWindow;

/// What happened in the second `[second, second + 1)` of run time.
///
/// A request belongs to the window of its `done`; `offered` and `lag` belong to the window in which the arrival
/// was due.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Seconds since the start of the run.
    pub second: u32,
    /// Arrivals due in this second.
    pub offered: u64,
    /// Requests written to a connection in this second, redirects and retries included.
    pub sent: u64,
    /// Requests that ended in this second, by outcome.
    pub outcomes: OutcomeCounts,
    /// Answers by HTTP status.
    pub status: BTreeMap<u16, u64>,
    /// Response time (done − due) of good answers, µs.
    pub response: Histogram,
    /// Service time (done − sent) of good answers, µs.
    pub service: Histogram,
    /// Good answers that took several reads; a response read at once has its first byte with its last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<Box<PartialReads>>,
    /// From dialing to the target's acceptance, of connections accepted in this second, µs.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub connect: Histogram,
    /// From a connection's acceptance to the end of its TLS handshake, of handshakes completed in this second, µs.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub tls: Histogram,
    /// Response time of requests that failed, µs.
    pub failed: Histogram,
    /// Lag of the generator itself for an arrival (taken up − due), µs. Empty for closed load.
    pub lag: Histogram,
    /// Requests due and not finished at the end of the second, waiting ones included.
    pub in_flight: u64,
    /// The same, averaged over the second.
    pub in_flight_mean: f64,
    /// Requests due that wait for a connection at the end of the second.
    pub waiting: u64,
    /// Connections open at the end of the second.
    pub connections: u64,
    /// Connections opened in this second.
    pub connections_opened: u64,
    /// TLS handshakes completed in this second.
    pub handshakes: u64,
    /// Bytes read from connections, heads included, after TLS.
    pub bytes_in: u64,
    /// Bytes written to connections, heads included, before TLS.
    pub bytes_out: u64,
    /// Answers with a gzip body.
    pub gzip: u64,
    /// Answers with a brotli body.
    pub brotli: u64,
    /// Bytes of bodies by content coding.
    #[serde(default, skip_serializing_if = "Bodies::is_empty")]
    pub bodies: Bodies,
    /// Responses by status over HTTP/2; the others arrived over HTTP/1.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub http2: u64,
    /// Redirects followed.
    pub redirects: u64,
    /// Requests sent again because a kept connection was closed under them before any answer.
    pub retries: u64,
    /// Users in the run at the end of the second; 0 without journeys.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub users: u64,
    /// Iterations that users finished in this second, failed ones included.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub iterations: u64,
    /// The same by index of the journey.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub journey_iterations: BTreeMap<u32, u64>,
    /// Users that left because a `once` step failed, no unique row was left, their external script failed, or they gave up
    /// ([`StepWindow::given_up`]).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub users_lost: u64,
    /// Results by step of a scenario. Steps of `once` count here and nowhere else.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub steps: BTreeMap<StepId, StepWindow>,
    /// Results of a plain load by row of its URLs ([`crate::url_rows`]), where there are several; without requests that
    /// were dropped before they had a URL. Bytes are those of bodies, without heads.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub urls: BTreeMap<u32, StepWindow>,
    /// Steps that processes named for the first time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub steps_named: BTreeMap<StepId, StepInfo>,
    /// Results of external scripts, by index of the journey.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub processes: BTreeMap<u32, ProcessWindow>,
    /// Results of WebSockets, where there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub websocket: Option<Box<WebSocketWindow>>,
    /// What ended the load, or a part of it, early: data that ran out, a process that died.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "faults")]
    pub load_errors: Vec<String>,
    /// Some of the failures of users' steps, so that a report can show why; [`FAILURES_MAX`] at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<FailureSample>,
    /// What the generator itself used.
    pub generator: GeneratorUse,
}

/// Good answers that took several reads, in one second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartialReads {
    /// Service time (done − sent), µs: also in the window's.
    pub service: Histogram,
    /// From sending to the first bytes of the answer, µs.
    pub first_byte: Histogram,
    /// From the first bytes to the last, µs.
    pub transfer: Histogram,
}

impl PartialReads {
    /// Adds the counts of another loop or another second.
    pub fn merge(&mut self, other: &Self) {
        self.service.merge(&other.service);
        self.first_byte.merge(&other.first_byte);
        self.transfer.merge(&other.transfer);
    }
}

/// Results of one step, or of one row of URLs, in one second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepWindow {
    /// Requests that ended, by outcome.
    pub outcomes: OutcomeCounts,
    /// Response time (done − due) of good answers, µs.
    pub response: Histogram,
    /// Response time of requests that failed, µs.
    pub failed: Histogram,
    /// Bytes of answers, heads included.
    pub bytes_in: u64,
    /// How long users had waited for this step when they gave up and left, µs: one value for each.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub given_up: Histogram,
}

/// Results of the external scripts of one journey in one second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessWindow {
    /// Events that they answered with steps.
    pub steps: u64,
    /// Time from sending an event to reading its answer, µs.
    pub wait: Histogram,
    /// CPU time of all of them, µs.
    pub cpu_us: u64,
    /// CPU time of the busiest of them, µs.
    pub cpu_us_max: u64,
    /// Answers that were invalid or late.
    #[serde(rename = "faults")]
    pub errors: u64,
    /// What they wrote to their standard error, with a prefix; only the first lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "said")]
    pub stderr: Vec<String>,
}

impl ProcessWindow {
    /// Adds the results of another loop or another second.
    pub fn merge(&mut self, other: &Self) {
        self.steps += other.steps;
        self.wait.merge(&other.wait);
        self.cpu_us += other.cpu_us;
        self.cpu_us_max = self.cpu_us_max.max(other.cpu_us_max);
        self.errors += other.errors;
        self.stderr.extend_from_slice(&other.stderr);
    }
}

/// Failures of steps that a loop reports in one run, and a window holds, at most.
pub const FAILURES_MAX: usize = 20;

/// One failed step of one user, with all details.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureSample {
    /// Moment at which it failed, µs of run time.
    pub at_us: u64,
    /// The step; `None` for what went wrong outside of one.
    pub step: Option<StepId>,
    /// How it ended.
    pub outcome: Outcome,
    /// What was expected and what was found.
    pub reason: String,
    /// Status of the response; 0 without one.
    pub status: u16,
    /// First bytes of the response body, truncated, as text.
    pub body: String,
}

impl StepWindow {
    /// Adds the results of another loop or another second for the same step.
    pub fn merge(&mut self, other: &Self) {
        self.outcomes.merge(&other.outcomes);
        self.response.merge(&other.response);
        self.failed.merge(&other.failed);
        self.bytes_in += other.bytes_in;
        self.given_up.merge(&other.given_up);
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde asks for"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The generator's own resources in one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratorUse {
    /// CPU time of the event loops, summed, µs.
    pub loop_cpu_us: u64,
    /// CPU time of the busiest event loop, µs.
    pub loop_cpu_us_max: u64,
    /// Connections that failed because no local port was free (EADDRNOTAVAIL).
    pub ports_exhausted: u64,
    /// Connections that failed because no file descriptor was free (EMFILE, ENFILE).
    pub descriptors_exhausted: u64,
}

impl Window {
    /// An empty window for `second`.
    pub fn new(second: u32) -> Self {
        Self {
            second,
            ..Self::default()
        }
    }

    /// Requests that ended.
    pub fn completed(&self) -> u64 {
        self.outcomes.total()
    }

    /// Users that gave up waiting for a step and left; [`Window::users_lost`] counts them too.
    pub fn users_given_up(&self) -> u64 {
        self.steps.values().map(|step| step.given_up.count()).sum()
    }

    /// Adds the results of another loop in the same second.
    pub fn merge(&mut self, other: &Self) {
        debug_assert_eq!(
            self.second, other.second,
            "windows of different seconds do not merge"
        );
        self.offered += other.offered;
        self.sent += other.sent;
        self.outcomes.merge(&other.outcomes);
        for (&status, &count) in &other.status {
            *self.status.entry(status).or_default() += count;
        }
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.failed.merge(&other.failed);
        if let Some(partial) = &other.partial {
            self.partial.get_or_insert_default().merge(partial);
        }
        self.connect.merge(&other.connect);
        self.tls.merge(&other.tls);
        self.lag.merge(&other.lag);
        self.in_flight += other.in_flight;
        self.in_flight_mean += other.in_flight_mean;
        self.waiting += other.waiting;
        self.connections += other.connections;
        self.connections_opened += other.connections_opened;
        self.handshakes += other.handshakes;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.gzip += other.gzip;
        self.brotli += other.brotli;
        self.bodies.merge(&other.bodies);
        self.http2 += other.http2;
        self.redirects += other.redirects;
        self.retries += other.retries;
        self.users += other.users;
        self.iterations += other.iterations;
        for (&journey, &count) in &other.journey_iterations {
            *self.journey_iterations.entry(journey).or_default() += count;
        }
        self.users_lost += other.users_lost;
        let named = other.steps_named.iter();
        self.steps_named
            .extend(named.map(|(&id, info)| (id, info.clone())));
        for (&journey, process) in &other.processes {
            self.processes.entry(journey).or_default().merge(process);
        }
        if let Some(websocket) = &other.websocket {
            let mine = self.websocket.get_or_insert_default();
            mine.merge(websocket);
        }
        self.load_errors.extend_from_slice(&other.load_errors);
        for (&id, step) in &other.steps {
            self.steps.entry(id).or_default().merge(step);
        }
        for (&row, results) in &other.urls {
            self.urls.entry(row).or_default().merge(results);
        }
        let room = FAILURES_MAX.saturating_sub(self.failures.len());
        self.failures
            .extend(other.failures.iter().take(room).cloned());
        self.generator.merge(other.generator);
    }
}

impl GeneratorUse {
    /// Adds what another loop used, or the same in another second.
    pub fn merge(&mut self, other: Self) {
        self.loop_cpu_us += other.loop_cpu_us;
        self.loop_cpu_us_max = self.loop_cpu_us_max.max(other.loop_cpu_us_max);
        self.ports_exhausted += other.ports_exhausted;
        self.descriptors_exhausted += other.descriptors_exhausted;
    }
}
