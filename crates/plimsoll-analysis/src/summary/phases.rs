//! Where the time of a request goes on the network: connecting, TLS, the wait for the first byte, the transfer.

use plimsoll_model::event::FORMAT_MINOR_PHASES;
use plimsoll_model::histogram::Histogram;
use plimsoll_model::run::Run;
use plimsoll_model::trial::Percentiles;
use plimsoll_model::window::PartialReads;

use super::{MeasuredSpan, percentiles};

/// Times of the phases. First byte and transfer of an answer are its service time together; connecting and TLS come
/// before it, for new connections alone.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PhasesSummary {
    /// Connections established.
    pub connections: u64,
    /// From dialing to the target's acceptance, µs; `None` without a new connection.
    pub connect_us: Option<Percentiles>,
    /// TLS handshakes completed.
    pub handshakes: u64,
    /// The handshake alone, µs; `None` without one.
    pub tls_us: Option<Percentiles>,
    /// Good answers.
    pub answers: u64,
    /// From sending to the first bytes, of good answers, µs; `None` without any.
    pub first_byte_us: Option<Percentiles>,
    /// From the first bytes to the last, of good answers, µs: 0 for one that was read at once.
    pub transfer_us: Option<Percentiles>,
}

/// Histograms of all judged seconds.
#[derive(Debug, Default)]
struct PhaseTotals {
    connect: Histogram,
    tls: Histogram,
    service: Histogram,
    partial: PartialReads,
}

impl PhasesSummary {
    /// The phases over the judged seconds; `None` for logs of older versions, and where nothing was sent.
    pub(super) fn of(run: &Run, spans: &[MeasuredSpan]) -> Option<Self> {
        if run.header.format_minor < FORMAT_MINOR_PHASES {
            return None;
        }
        let mut total = PhaseTotals::default();
        for window in spans.iter().flat_map(|span| span.windows(run)) {
            total.connect.merge(&window.connect);
            total.tls.merge(&window.tls);
            total.service.merge(&window.service);
            if let Some(partial) = &window.partial {
                total.partial.merge(partial);
            }
        }
        let is_empty = total.connect.is_empty() && total.service.is_empty();
        (!is_empty).then(|| total.summary())
    }
}

impl PhaseTotals {
    fn summary(&self) -> PhasesSummary {
        // An answer that was read at once has its first byte with its last.
        let at_once = self.service.without(&self.partial.service);
        let mut first_byte = at_once.clone();
        first_byte.merge(&self.partial.first_byte);
        let mut transfer = self.partial.transfer.clone();
        transfer.record(0, at_once.count());
        PhasesSummary {
            connections: self.connect.count(),
            connect_us: percentiles(&self.connect),
            handshakes: self.tls.count(),
            tls_us: percentiles(&self.tls),
            answers: self.service.count(),
            first_byte_us: percentiles(&first_byte),
            transfer_us: percentiles(&transfer),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_model::histogram::bucket_top;
    use plimsoll_model::window::Window;

    use super::*;
    use crate::summary::Summary;
    use crate::summary::tests::run;

    #[test]
    fn first_byte_and_transfer_make_the_service_time() {
        let mut run = run(Duration::from_secs(2));
        run.windows = (0..2).map(Window::new).collect();
        for window in &mut run.windows {
            window.service.record(2_000, 3);
            window.service.record(90_000, 1);
            let mut partial = PartialReads::default();
            partial.service.record(90_000, 1);
            partial.first_byte.record(60_000, 1);
            partial.transfer.record(30_000, 1);
            window.partial = Some(Box::new(partial));
        }
        run.windows[0].connect.record(150, 2);
        run.windows[0].tls.record(4_000, 1);
        let summary = Summary::of(&run);
        let phases = summary.phases.unwrap();
        assert_eq!(
            (phases.connections, phases.handshakes, phases.answers),
            (2, 1, 8)
        );
        assert_eq!(phases.connect_us.unwrap().p50, 150);
        assert_eq!(phases.tls_us.unwrap().max, bucket_top(4_000));
        let (first, transfer) = (phases.first_byte_us.unwrap(), phases.transfer_us.unwrap());
        assert_eq!((first.p50, first.max), (2_000, bucket_top(60_000)));
        assert_eq!((transfer.p50, transfer.max), (0, bucket_top(30_000)));
        let service = summary.service_us.unwrap().mean;
        let off = (first.mean + transfer.mean) / service - 1.0;
        assert!(off.abs() < 1e-3, "{off}");
    }

    #[test]
    fn a_log_without_phases_has_none() {
        let mut run = run(Duration::from_secs(1));
        run.windows = vec![Window::new(0)];
        assert_eq!(Summary::of(&run).phases, None, "nothing was sent");
        run.windows[0].service.record(2_000, 3);
        assert!(Summary::of(&run).phases.is_some());
        run.header.format_minor = FORMAT_MINOR_PHASES - 1;
        assert_eq!(Summary::of(&run).phases, None);
    }
}
