//! Counts of one loop in one second, in the form that the hot path writes.

use std::collections::BTreeMap;

use hdrhistogram::Histogram as Dense;
use plimsoll_model::histogram::{Histogram, SIGNIFICANT_DIGITS};
use plimsoll_model::journey::StepId;
use plimsoll_model::outcome::{Outcome, OutcomeCounts};
use plimsoll_model::websocket::WebSocketWindow;
use plimsoll_model::window::{ProcessWindow, StepWindow, Window};

use crate::clock::SECOND_NS;

/// Statuses that are counted individually: 0 to 999.
const STATUSES: usize = 1000;

/// One second of one loop; everything here is added to, never searched.
#[derive(Debug)]
pub(crate) struct WindowBuilder {
    /// The plain counts; its histograms and statuses stay empty until [`WindowBuilder::close`].
    pub(crate) window: Window,
    pub(crate) status: Box<[u32]>,
    pub(crate) response: Dense<u32>,
    pub(crate) service: Dense<u32>,
    pub(crate) failed: Dense<u32>,
    pub(crate) lag: Dense<u32>,
    /// Σ end moments − Σ due moments, in ns from the start of the second: with the count at the
    /// end of the second it gives the time integral of the requests in flight, exactly.
    pub(crate) in_flight_ns: i64,
    /// Results by step, created when a step first ends.
    steps: Vec<Option<Box<StepWindowBuilder>>>,
    /// How long users waited for external scripts, by journey.
    waits: BTreeMap<u32, DurationTally>,
    /// Counts of WebSockets; `None` without any.
    websocket: Option<Box<WebSocketWindowBuilder>>,
}

/// Counts of the WebSockets of one loop in one second.
#[derive(Debug, Default)]
pub(crate) struct WebSocketWindowBuilder {
    /// The plain counts; its histograms stay empty until the second is over.
    pub(crate) window: WebSocketWindow,
    handshake: DurationTally,
    request: DurationTally,
    reconnect: DurationTally,
}

impl WebSocketWindowBuilder {
    /// A lost WebSocket is ready again after this time.
    pub(crate) fn reconnected(&mut self, duration_ns: u64) {
        self.window.reconnected += 1;
        self.reconnect.add(duration_ns / 1000);
    }

    /// A handshake opened a WebSocket.
    pub(crate) fn connected(&mut self, duration_ns: u64) {
        self.window.connected += 1;
        self.handshake.add(duration_ns / 1000);
    }

    /// A response to a message arrived.
    #[inline]
    pub(crate) fn answered(&mut self, duration_ns: u64) {
        self.request.add(duration_ns / 1000);
    }

    fn close(mut self) -> WebSocketWindow {
        self.window.handshake = self.handshake.take();
        self.window.request = self.request.take();
        self.window.reconnect = self.reconnect.take();
        self.window
    }
}

/// Counts of one step of one loop in one second.
#[derive(Debug, Default)]
struct StepWindowBuilder {
    outcomes: OutcomeCounts,
    response: DurationTally,
    failed: DurationTally,
    bytes_in: u64,
}

/// Durations of one step. There may be a thousand steps: a dense histogram for each would take gigabytes.
#[derive(Debug, Default)]
struct DurationTally {
    /// Not yet counted, µs.
    recent: Vec<u64>,
    counted: Histogram,
}

/// Durations kept before they are counted together; sorting so many takes some microseconds.
const RECENT_MAX: usize = 512;

impl DurationTally {
    #[inline]
    fn add(&mut self, duration_us: u64) {
        self.recent.push(duration_us);
        if self.recent.len() >= RECENT_MAX {
            self.count();
        }
    }

    fn count(&mut self) {
        self.recent.sort_unstable();
        let mut sorted = Histogram::new();
        for duration_us in self.recent.drain(..) {
            sorted.record(duration_us, 1);
        }
        self.counted.merge(&sorted);
    }

    fn take(&mut self) -> Histogram {
        if !self.recent.is_empty() {
            self.count();
        }
        std::mem::take(&mut self.counted)
    }
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
            steps: Vec::new(),
            waits: BTreeMap::new(),
            websocket: None,
        })
    }

    /// The counts of WebSockets in this second.
    #[inline]
    pub(crate) fn websocket(&mut self) -> &mut WebSocketWindowBuilder {
        self.websocket.get_or_insert_default()
    }

    /// Whether WebSockets have counts in this second.
    pub(crate) fn has_websocket(&self) -> bool {
        self.websocket.is_some()
    }

    /// The counts of external scripts of a journey in this second.
    pub(crate) fn process(&mut self, journey: u32) -> &mut ProcessWindow {
        self.window.processes.entry(journey).or_default()
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
        let index = id as usize;
        if index >= self.steps.len() {
            self.steps.resize_with(index + 1, || None);
        }
        let step = self.steps[index].get_or_insert_default();
        step.outcomes.add(outcome);
        step.bytes_in += bytes;
        if outcome.is_ok() {
            step.response.add(response_ns / 1000);
        } else {
            step.failed.add(response_ns / 1000);
        }
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
        for (id, step) in (0..).zip(&mut self.steps) {
            let Some(step) = step.as_mut().filter(|step| step.outcomes.total() > 0) else {
                continue;
            };
            let closed = StepWindow {
                outcomes: std::mem::take(&mut step.outcomes),
                response: step.response.take(),
                failed: step.failed.take(),
                bytes_in: std::mem::take(&mut step.bytes_in),
            };
            window.steps.insert(id, closed);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_counts_as_a_histogram_does() {
        let (mut tally, mut expected) = (DurationTally::default(), Histogram::new());
        for number in 0..3000_u64 {
            let duration_us = number * 7919 % 100_003;
            tally.add(duration_us);
            expected.record(duration_us, 1);
        }
        assert_eq!(tally.take(), expected);
        assert!(tally.take().is_empty());
    }

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
        assert!(second.close().steps.is_empty());
    }
}
