//! Bytes sent and received, and bodies by content coding.

use plimsoll_model::bodies::Bodies;
use plimsoll_model::run::Run;

use super::MeasuredSpan;

/// Bytes over the judged seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficSummary {
    /// Bytes received, heads included, TLS left out.
    pub bytes_in: u64,
    /// Bytes sent, heads included, TLS left out.
    pub bytes_out: u64,
    /// Bodies by content coding; empty for logs of older versions.
    pub bodies: Bodies,
}

impl TrafficSummary {
    pub(super) fn of(run: &Run, spans: &[MeasuredSpan]) -> Self {
        let mut traffic = Self::default();
        for window in spans.iter().flat_map(|span| span.windows(run)) {
            traffic.bytes_in += window.bytes_in;
            traffic.bytes_out += window.bytes_out;
            traffic.bodies.merge(&window.bodies);
        }
        traffic
    }
}
