//! Counts of one loop in one second, in the form that the hot path writes.

use std::collections::BTreeMap;

use hdrhistogram::Histogram as Dense;
use plimsoll_model::bodies::BodyBytes;
use plimsoll_model::histogram::{Histogram, SIGNIFICANT_DIGITS};
use plimsoll_model::journey::{StepId, StepInfo};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::redact;
use plimsoll_model::window::{FailureSample, ProcessWindow, Window};
use plimsoll_wire::head::ContentCoding;

use super::duration_tally::DurationTally;
use super::partial_reads::PartialReadsBuilder;
use super::step_window::{StepWindowBuilder, closed, counts_of};
use super::websocket_window::WebSocketWindowBuilder;
use crate::clock::SECOND_NS;

/// Statuses that are counted individually: 0 to 999.
const STATUSES: usize = 1000;

/// A request that ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestEnd {
    pub(crate) outcome: Outcome,
    pub(crate) due: u64,
    /// First sent; equal to `done` when it never was.
    pub(crate) sent: u64,
    /// First bytes of the response; `done` when it was read at once.
    pub(crate) first_byte: u64,
    pub(crate) done: u64,
    /// Row of its URL, where a plain load has several.
    pub(crate) url_row: Option<u32>,
    /// Length of the response body as transferred.
    pub(crate) body_len: u64,
}

impl RequestEnd {
    /// Without a row, and without a body.
    #[inline]
    pub(crate) fn new(outcome: Outcome, due: u64, sent: u64, done: u64) -> Self {
        Self {
            outcome,
            due,
            sent,
            first_byte: done,
            done,
            url_row: None,
            body_len: 0,
        }
    }
}

/// One second of one loop; everything here is added to, never searched.
#[derive(Debug)]
pub(crate) struct WindowBuilder {
    /// The plain counts; its histograms and statuses stay empty until [`WindowBuilder::close`].
    window: Window,
    status: Box<[u32]>,
    response: Dense<u32>,
    service: Dense<u32>,
    failed: Dense<u32>,
    lag: Dense<u32>,
    /// Σ end moments − Σ due moments, in ns from the start of the second: with the count at the
    /// end of the second it gives the time integral of the requests in flight, exactly.
    in_flight_ns: i64,
    /// Responses that took several reads.
    partial: PartialReadsBuilder,
    /// Connections and their handshakes, which are few.
    connect: DurationTally,
    tls: DurationTally,
    /// Results by step, created when a step first ends.
    steps: Vec<Option<Box<StepWindowBuilder>>>,
    /// Results by row of URLs, in the same way.
    urls: Vec<Option<Box<StepWindowBuilder>>>,
    /// How long users waited for external scripts, by journey.
    waits: BTreeMap<u32, DurationTally>,
    /// Counts of WebSockets; `None` without any.
    websocket: Option<Box<WebSocketWindowBuilder>>,
}

/// What is there at the end of a second, and the CPU time that the loop used in it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gauges {
    pub(super) in_flight: u64,
    pub(super) waiting: u64,
    pub(super) connections: u64,
    pub(super) users: u64,
    pub(super) cpu_us: u64,
}

impl WindowBuilder {
    /// An empty second whose histograms reach up to `highest_us`, and grow beyond it rather than clamp.
    pub(crate) fn new(highest_us: u64) -> Box<Self> {
        let dense = || {
            let mut dense = Dense::new_with_bounds(1, highest_us.max(2), SIGNIFICANT_DIGITS)
                .expect("1 to at least 2 with three digits are valid bounds");
            dense.auto(true);
            dense
        };
        Box::new(Self {
            window: Window::default(),
            status: vec![0; STATUSES].into_boxed_slice(),
            response: dense(),
            service: dense(),
            failed: dense(),
            lag: dense(),
            in_flight_ns: 0,
            partial: PartialReadsBuilder::default(),
            connect: DurationTally::default(),
            tls: DurationTally::default(),
            steps: Vec::new(),
            urls: Vec::new(),
            waits: BTreeMap::new(),
            websocket: None,
        })
    }

    /// An empty builder counts this second from now on.
    pub(super) fn begin(&mut self, second: u32) {
        self.window.second = second;
    }

    pub(super) fn second(&self) -> u32 {
        self.window.second
    }

    /// Whether nothing happened in this second.
    pub(super) fn is_empty(&self) -> bool {
        let window = &self.window;
        let has_requests = window.offered > 0 || window.completed() > 0 || window.sent > 0;
        !has_requests && self.websocket.is_none()
    }

    /// A request was due `at_ns` after the start of this second.
    #[inline]
    pub(super) fn count_offered(&mut self, at_ns: i64) {
        self.window.offered += 1;
        self.in_flight_ns -= at_ns;
    }

    /// A request of this second, which is over, is in flight at its end.
    pub(super) fn add_in_flight(&mut self) {
        self.window.in_flight += 1;
    }

    /// A request that was in flight at the end of this second had ended in it.
    pub(super) fn remove_in_flight(&mut self) {
        self.window.in_flight -= 1;
    }

    /// Something due by the clock was handled so much later.
    #[inline]
    pub(super) fn record_lag(&mut self, lag_ns: u64) {
        record(&mut self.lag, lag_ns);
    }

    /// A request ended `at_ns` after the start of this second.
    #[inline]
    pub(super) fn count_ended(&mut self, ended: RequestEnd, at_ns: i64) {
        self.window.outcomes.add(ended.outcome);
        self.in_flight_ns += at_ns;
        let response = ended.done.saturating_sub(ended.due);
        if ended.outcome.is_ok() {
            record(&mut self.response, response);
            record(&mut self.service, ended.done.saturating_sub(ended.sent));
            if ended.first_byte < ended.done {
                self.partial.add(ended.sent, ended.first_byte, ended.done);
            }
        } else {
            record(&mut self.failed, response);
        }
        if let Some(row) = ended.url_row {
            counts_of(&mut self.urls, row).add(ended.outcome, response, ended.body_len);
        }
    }

    /// A response has this status; one above the table is not counted.
    #[inline]
    pub(super) fn count_status(&mut self, status: u16) {
        if let Some(count) = self.status.get_mut(usize::from(status)) {
            *count += 1;
        }
    }

    /// What is there at the end of this second.
    pub(super) fn set_gauges(&mut self, gauges: Gauges) {
        let window = &mut self.window;
        window.in_flight = gauges.in_flight;
        window.waiting = gauges.waiting;
        window.connections = gauges.connections;
        window.users = gauges.users;
        window.generator.loop_cpu_us = gauges.cpu_us;
        window.generator.loop_cpu_us_max = gauges.cpu_us;
    }

    /// The counts of WebSockets in this second.
    #[inline]
    pub(crate) fn websocket(&mut self) -> &mut WebSocketWindowBuilder {
        self.websocket.get_or_insert_default()
    }

    /// A connection was established so long after it was dialed.
    pub(super) fn count_connection(&mut self, took_ns: u64) {
        self.window.connections_opened += 1;
        self.connect.add(took_ns / 1000);
    }

    /// A request, a handshake or a message was sent.
    #[inline]
    pub(crate) fn count_sent(&mut self) {
        self.window.sent += 1;
    }

    #[inline]
    pub(crate) fn count_bytes_out(&mut self, count: u64) {
        self.window.bytes_out += count;
    }

    #[inline]
    pub(crate) fn count_bytes_in(&mut self, count: u64) {
        self.window.bytes_in += count;
    }

    /// A redirect was followed.
    pub(crate) fn count_redirect(&mut self) {
        self.window.redirects += 1;
    }

    /// A request is sent once more.
    pub(crate) fn count_retry(&mut self) {
        self.window.retries += 1;
    }

    /// A TLS handshake was completed so long after its connection was established.
    pub(crate) fn count_handshake(&mut self, took_ns: u64) {
        self.window.handshakes += 1;
        self.tls.add(took_ns / 1000);
    }

    /// A response has a body of this length, as transferred, in this content coding.
    #[inline]
    pub(crate) fn count_body(&mut self, coding: ContentCoding, len: u64) {
        match coding {
            ContentCoding::Other => {}
            ContentCoding::Gzip => self.window.gzip += 1,
            ContentCoding::Brotli => self.window.brotli += 1,
        }
        let bodies = self.bodies(coding);
        bodies.answers += 1;
        bodies.bytes += len;
    }

    /// A body was decoded from `len` bytes to `decoded`.
    pub(crate) fn count_decoded(&mut self, coding: ContentCoding, len: u64, decoded: u64) {
        let bodies = self.bodies(coding);
        bodies.decoded_from += len;
        bodies.decoded += decoded;
    }

    #[inline]
    fn bodies(&mut self, coding: ContentCoding) -> &mut BodyBytes {
        match coding {
            ContentCoding::Other => &mut self.window.bodies.other,
            ContentCoding::Gzip => &mut self.window.bodies.gzip,
            ContentCoding::Brotli => &mut self.window.bodies.brotli,
        }
    }

    /// A response came over HTTP/2.
    #[inline]
    pub(crate) fn count_http2(&mut self) {
        self.window.http2 += 1;
    }

    /// No local port was free for a connection.
    pub(crate) fn count_ports_exhausted(&mut self) {
        self.window.generator.ports_exhausted += 1;
    }

    /// No descriptor was free for a connection.
    pub(crate) fn count_descriptors_exhausted(&mut self) {
        self.window.generator.descriptors_exhausted += 1;
    }

    /// A user left for another reason than the plan.
    pub(crate) fn count_lost_user(&mut self) {
        self.window.users_lost += 1;
    }

    /// A user gave up waiting for a step, whose end is counted already, after this time.
    pub(crate) fn user_gave_up(&mut self, id: StepId, waited_ns: u64) {
        counts_of(&mut self.steps, id).give_up(waited_ns);
    }

    /// A user has ended an iteration of a journey.
    pub(crate) fn count_iteration(&mut self, journey: u32) {
        self.window.iterations += 1;
        *self.window.journey_iterations.entry(journey).or_default() += 1;
    }

    /// A failure in full.
    pub(crate) fn add_failure(&mut self, failure: FailureSample) {
        self.window.failures.push(failure);
    }

    /// A problem of the load itself. It is stored and shown, and may quote what a script wrote.
    pub(crate) fn add_load_error(&mut self, error: &str) {
        self.window
            .load_errors
            .push(redact::text(error).into_owned());
    }

    /// A step that was not known before.
    pub(crate) fn name_step(&mut self, id: StepId, info: StepInfo) {
        self.window.steps_named.insert(id, info);
    }

    /// The counts of external scripts of a journey in this second.
    fn process(&mut self, journey: u32) -> &mut ProcessWindow {
        self.window.processes.entry(journey).or_default()
    }

    /// An external script failed, or its message did.
    pub(crate) fn count_process_error(&mut self, journey: u32) {
        self.process(journey).errors += 1;
    }

    /// An external script has written these lines to its standard error.
    pub(crate) fn add_process_stderr(&mut self, journey: u32, lines: impl Iterator<Item = String>) {
        self.process(journey).stderr.extend(lines);
    }

    /// An external script has used so much CPU time, µs.
    pub(crate) fn add_process_cpu(&mut self, journey: u32, used_us: u64) {
        let process = self.process(journey);
        process.cpu_us += used_us;
        process.cpu_us_max = process.cpu_us_max.max(used_us);
    }

    /// An external script replied to a user after this time.
    pub(crate) fn process_answered(&mut self, journey: u32, waited_ns: u64) {
        self.process(journey).steps += 1;
        self.waits.entry(journey).or_default().add(waited_ns / 1000);
    }

    /// Counts the end of a step.
    #[inline]
    pub(crate) fn step_ended(
        &mut self,
        id: StepId,
        outcome: Outcome,
        response_ns: u64,
        bytes: u64,
    ) {
        counts_of(&mut self.steps, id).add(outcome, response_ns, bytes);
    }

    /// Returns all counts as a window, and clears the second for reuse.
    pub(crate) fn close(&mut self) -> Window {
        let mut window = std::mem::take(&mut self.window);
        let end_ns =
            i128::from(self.in_flight_ns) + i128::from(window.in_flight) * i128::from(SECOND_NS);
        window.in_flight_mean = end_ns as f64 / SECOND_NS as f64;
        self.in_flight_ns = 0;
        for (status, count) in (0_u16..).zip(&mut self.status) {
            if *count > 0 {
                window.status.insert(status, u64::from(*count));
                *count = 0;
            }
        }
        for (sparse, dense) in [
            (&mut window.response, &mut self.response),
            (&mut window.service, &mut self.service),
            (&mut window.failed, &mut self.failed),
            (&mut window.lag, &mut self.lag),
        ] {
            if !dense.is_empty() {
                *sparse = Histogram::from_dense(dense);
                dense.reset();
            }
        }
        window.partial = self.partial.take().map(Box::new);
        window.connect = self.connect.take();
        window.tls = self.tls.take();
        window.steps = closed(&mut self.steps);
        window.urls = closed(&mut self.urls);
        window.websocket = self
            .websocket
            .take()
            .map(|builder| Box::new(builder.close()));
        for (&journey, waits) in &mut self.waits {
            if let Some(process) = window.processes.get_mut(&journey) {
                process.wait = waits.take();
            }
        }
        window
    }
}

#[inline]
fn record(dense: &mut Dense<u32>, duration_ns: u64) {
    dense
        .record(duration_ns / 1000)
        .expect("the histogram grows, and a second holds fewer than 2^32 requests");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_handed_over_once() {
        let mut second = WindowBuilder::new(1000);
        second.step_ended(2, Outcome::Ok, 5_000_000, 100);
        second.step_ended(2, Outcome::Expectation, 7_000_000, 50);
        let window = second.close();
        assert_eq!(window.steps.len(), 1);
        let step = &window.steps[&2];
        assert_eq!((step.outcomes.total(), step.bytes_in), (2, 150));
        assert_eq!((step.response.count(), step.failed.count()), (1, 1));
        assert!(step.given_up.is_empty() && second.close().steps.is_empty());
    }

    #[test]
    fn users_who_gave_up_are_counted_with_their_step() {
        let mut second = WindowBuilder::new(1000);
        second.step_ended(4, Outcome::Timeout, 3_000_000_000, 0);
        second.user_gave_up(4, 3_000_000_000);
        let window = second.close();
        assert_eq!(window.users_given_up(), 1);
        assert_eq!(window.steps[&4].given_up.quantile(0.5), Some(3_000_319));
        second.step_ended(4, Outcome::Ok, 1_000_000, 0);
        assert_eq!(second.close().users_given_up(), 0);
    }

    #[test]
    fn requests_count_in_the_row_of_their_url() {
        let mut second = WindowBuilder::new(1000);
        for (row, outcome, body_len) in [
            (Some(3), Outcome::Ok, 700),
            (Some(3), Outcome::WrongStatus, 9),
            (None, Outcome::Ok, 5),
        ] {
            let ended = RequestEnd {
                url_row: row,
                body_len,
                ..RequestEnd::new(outcome, 0, 1_000_000, 4_000_000)
            };
            second.count_ended(ended, 0);
        }
        let window = second.close();
        assert_eq!(window.response.count(), 2);
        let rows: Vec<u32> = window.urls.keys().copied().collect();
        assert_eq!(rows, [3]);
        let row = &window.urls[&3];
        assert_eq!((row.outcomes.total(), row.bytes_in), (2, 709));
        assert_eq!((row.response.max(), row.failed.count()), (Some(4001), 1));
        assert!(second.close().urls.is_empty());
    }

    #[test]
    fn responses_of_several_reads_have_a_first_byte() {
        let mut second = WindowBuilder::new(1000);
        let at_once = RequestEnd::new(Outcome::Ok, 0, 1_000_000, 4_000_000);
        second.count_ended(at_once, 0);
        for outcome in [Outcome::Ok, Outcome::WrongStatus] {
            let ended = RequestEnd {
                first_byte: 1_300_000,
                ..RequestEnd::new(outcome, 0, 1_000_000, 2_000_000)
            };
            second.count_ended(ended, 0);
        }
        second.count_connection(70_000);
        second.count_handshake(900_000);
        let window = second.close();
        let partial = window.partial.unwrap();
        let only = |histogram: &Histogram| (histogram.count(), histogram.max().unwrap());
        assert_eq!(only(&partial.service), (1, 1000));
        assert_eq!(only(&partial.first_byte), (1, 300));
        assert_eq!(only(&partial.transfer), (1, 700));
        assert_eq!(
            (only(&window.connect), only(&window.tls)),
            ((1, 70), (1, 900))
        );
        let next = second.close();
        assert!(next.partial.is_none() && next.connect.is_empty() && next.tls.is_empty());
    }
}
