//! A replica, as it was measured.

use std::time::Duration;

use super::required;
use crate::document::Shape::{Duration as DurationShape, Rate};
use crate::document::{
    DocumentNode, DocumentReader, SettingsMap as _, number, settings, share, time,
};
use crate::units;

/// Longest start of a replica, and longest paid period.
const START_MAX: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

settings! {
    /// A replica, as it was measured.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ReplicaConfig, REPLICA "replica" {
        /// Its load line: the rate that one replica carries within the objective, which `plimsoll limit` verified.
        /// Required.
        line: f64 = 1.0, "line": Rate => later;
        /// Time from its order until it is ready, as measured: the 95th percentile. Required.
        start: Duration = Duration::from_secs(40), "start": DurationShape => later;
        /// Share of the work for which replicas wait for each other (σ of the Universal Scalability Law).
        contention: f64 = 0.0, "contention": share("a share such as 0.02 or 2%");
        /// Cost of each pair of replicas (κ of the Universal Scalability Law).
        coherency: f64 = 0.0, "coherency": share("a share such as 0.0005");
        /// Mean time that a replica works on a request.
        service: Duration = Duration::from_millis(100), "service": time().within(
            Duration::from_micros(1),
            Duration::from_mins(10),
            "1us to 10m"
        );
        /// Requests in flight that a replica takes at most. Default: `line` times `service` (Little's law).
        in_flight: Option<f64> = None, "in_flight": number();
        /// Period that is paid as a whole, from the order of a replica: it is removed towards the end of one alone.
        /// Default: paid by the second.
        paid: Option<Duration> = None, "paid": time().within(Duration::from_mins(1), DAY, "1m to 24h");
    }
}

impl ReplicaConfig {
    /// A replica of this load line (1/s) that starts in 40 s, with the defaults of everything else.
    pub fn of_line(line: f64) -> Self {
        Self {
            line,
            ..Self::defaults()
        }
    }

    /// Requests in flight that a replica takes at most.
    pub fn in_flight_max(&self) -> f64 {
        let by_law = self.line * self.service.as_secs_f64();
        self.in_flight.unwrap_or(by_law).max(f64::MIN_POSITIVE)
    }
}

/// Reads `replica:`.
pub(super) fn replica(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<ReplicaConfig> {
    let fields = reader.fields(node, &REPLICA)?;
    let settings = ReplicaConfig::read(reader, &fields);
    let line = required(reader, &fields, "line", "80/s")
        .and_then(|node| reader.value(node, "a rate such as 80/s", units::rate_above_zero));
    let start = required(reader, &fields, "start", "40s").and_then(|node| {
        let start = reader.duration_above_zero(node)?;
        if start > START_MAX {
            let message = format!("{} is out of range", units::duration_text(start));
            reader.report(node, message, "above 0, up to 1h");
            return None;
        }
        Some(start)
    });
    if let Some(node) = fields.get("in_flight")
        && settings.in_flight.is_some_and(|in_flight| in_flight <= 0.0)
    {
        reader.report(node, "must be above zero", "a number above 0, such as 16");
        return None;
    }
    Some(ReplicaConfig {
        line: line?,
        start: start?,
        ..settings
    })
}
