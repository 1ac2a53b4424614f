//! Meters that arrived over OTLP, and what they measured since the last sample.
//!
//! A sender exports each second or each minute. A level stays until the next export; what rose is a rate over the time
//! between two exports, recorded in the second in which the later one arrives.

use std::collections::BTreeMap;

use super::parse::metrics::{MeterMessage, MeterPoint, PointValue};
use crate::collectors::metrics::MetricsRecorder;

/// Meters that are recorded, each with its labels; further ones are left out.
const METERS_MAX: usize = 512;
/// After this time without an export a meter is forgotten: a sender that goes on exports each minute at least.
const AGE_MAX_NS: u64 = 150_000_000_000;

/// What tells a meter from others: its name and its labels.
type MeterKey = (String, Vec<(String, String)>);

/// A total, and when it was measured.
#[derive(Clone, Copy, Debug)]
struct MeasuredTotal {
    start_ns: u64,
    time_ns: u64,
    count: f64,
    sum: f64,
}

/// What is recorded of a meter at the next sample.
#[derive(Debug, Default)]
struct OtlpMeter {
    level: Option<f64>,
    /// Increase of a counter, per second.
    increase: Option<f64>,
    /// Events of a histogram, per second.
    events: Option<f64>,
    /// Mean and maximum of their values.
    mean: Option<f64>,
    max: Option<f64>,
    before: Option<MeasuredTotal>,
    came_ns: u64,
}

/// All meters of a receiver.
#[derive(Debug, Default)]
pub(super) struct OtlpMeters {
    meters: BTreeMap<MeterKey, OtlpMeter>,
    has_received: bool,
    not_understood: bool,
    too_many: Option<String>,
}

impl OtlpMeters {
    /// Adds a message that arrived at a time, ns of the monotonic clock.
    pub(super) fn add(&mut self, message: MeterMessage, now_ns: u64) {
        self.has_received |= !message.points.is_empty();
        self.not_understood |= message.left_out > 0;
        for point in message.points {
            let (start_ns, time_ns, value) = (point.start_ns, point.time_ns, point.value);
            if let Some(meter) = self.meter(point) {
                meter.came_ns = now_ns;
                meter.add(value, start_ns, time_ns);
            }
        }
    }

    /// The meter of a point; `None` where there is no room for another one.
    fn meter(&mut self, point: MeterPoint) -> Option<&mut OtlpMeter> {
        let key = (point.name, point.labels);
        if !self.meters.contains_key(&key) && self.meters.len() >= METERS_MAX {
            self.too_many.get_or_insert(key.0);
            return None;
        }
        Some(self.meters.entry(key).or_default())
    }

    /// Whether any point arrived so far.
    pub(super) fn has_received(&self) -> bool {
        self.has_received
    }

    /// Records what arrived since the last call, and forgets meters that are no longer exported.
    pub(super) fn record(&mut self, now_ns: u64, metrics: &mut MetricsRecorder<'_>) {
        self.meters
            .retain(|_, meter| now_ns.saturating_sub(meter.came_ns) < AGE_MAX_NS);
        for ((name, labels), meter) in &mut self.meters {
            meter.record(name, labels, metrics);
        }
        if let Some(name) = self.too_many.take() {
            let text = format!(
                "only {METERS_MAX} meters are recorded, each with its labels: {name} and others were left out; leave out \
                 labels that change with each request"
            );
            metrics.note("too many meters", &text);
        }
        if std::mem::take(&mut self.not_understood) {
            let text = "some metrics were left out: summaries, changes of levels without a total (set \
                OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=cumulative), names of more than 200 bytes, and more than 24 \
                labels of 400 bytes";
            metrics.note("not understood", text);
        }
    }
}

impl OtlpMeter {
    fn add(&mut self, value: PointValue, start_ns: u64, time_ns: u64) {
        let seconds = time_ns.saturating_sub(start_ns) as f64 / 1e9;
        let per_second = |count: f64| (seconds > 0.0).then(|| count / seconds);
        let now = |count: f64, sum: f64| MeasuredTotal {
            start_ns,
            time_ns,
            count,
            sum,
        };
        match value {
            PointValue::Level(level) => self.level = Some(level),
            PointValue::Increase(increase) => self.increase = per_second(increase),
            PointValue::NewEvents { count, sum, max } => {
                self.events = per_second(count);
                self.mean = (count > 0.0).then(|| sum / count);
                self.max = max.filter(|_| count > 0.0);
            }
            PointValue::Total(total) => {
                let risen = self.risen(now(total, 0.0));
                self.increase = risen.map(|(count, _, seconds)| count / seconds);
            }
            PointValue::Events { count, sum } => {
                let risen = self.risen(now(count, sum));
                self.events = risen.map(|(count, _, seconds)| count / seconds);
                self.mean = risen
                    .filter(|(count, ..)| *count > 0.0)
                    .map(|(count, sum, _)| sum / count);
            }
        }
    }

    /// How much count and sum rose since the total before, and over how many seconds; `None` the first time, and where the
    /// meter began anew.
    fn risen(&mut self, now: MeasuredTotal) -> Option<(f64, f64, f64)> {
        let before = self.before.replace(now)?;
        let seconds = now.time_ns.saturating_sub(before.time_ns) as f64 / 1e9;
        let is_same = before.start_ns == now.start_ns && now.count >= before.count;
        let rise = (now.count - before.count, now.sum - before.sum, seconds);
        (is_same && seconds > 0.0).then_some(rise)
    }

    fn record(
        &mut self,
        name: &str,
        labels: &[(String, String)],
        metrics: &mut MetricsRecorder<'_>,
    ) {
        if let Some(level) = self.level {
            metrics.own_gauge(name, labels, level);
        }
        metrics.own_counter(name, labels, self.increase.take());
        metrics.own_counter(&format!("{name}.count"), labels, self.events.take());
        for (what, value) in [("mean", self.mean.take()), ("max", self.max.take())] {
            if let Some(value) = value {
                metrics.own_gauge(&format!("{name}.{what}"), labels, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn near(value: Option<f64>, right: f64) {
        let value = value.unwrap();
        assert!((value - right).abs() < 1e-9, "{value}, not {right}");
    }

    #[test]
    fn totals_become_rates_between_exports() {
        let mut meter = OtlpMeter::default();
        meter.add(PointValue::Total(40.0), 1, 10 * SECOND_NS);
        assert_eq!(meter.increase, None, "what was before is not known");
        meter.add(PointValue::Total(70.0), 1, 20 * SECOND_NS);
        near(meter.increase, 3.0);
        // The process began anew, then its clock stood still.
        meter.add(PointValue::Total(80.0), 2, 30 * SECOND_NS);
        assert_eq!(meter.increase, None);
        meter.add(PointValue::Total(90.0), 2, 30 * SECOND_NS);
        assert_eq!(meter.increase, None);
        meter.add(PointValue::Total(5.0), 2, 40 * SECOND_NS);
        assert_eq!(meter.increase, None, "it was reset");
        meter.add(PointValue::Increase(30.0), 40 * SECOND_NS, 50 * SECOND_NS);
        near(meter.increase, 3.0);
    }

    #[test]
    fn histograms_become_counts_and_means() {
        let mut meter = OtlpMeter::default();
        let events = |count, sum| PointValue::Events { count, sum };
        meter.add(events(4.0, 10.0), 1, 10 * SECOND_NS);
        assert_eq!((meter.events, meter.mean), (None, None));
        meter.add(events(14.0, 60.0), 1, 20 * SECOND_NS);
        near(meter.events, 1.0);
        near(meter.mean, 5.0);
        meter.add(events(14.0, 60.0), 1, 30 * SECOND_NS);
        near(meter.events, 0.0);
        assert_eq!(meter.mean, None);
        let new = PointValue::NewEvents {
            count: 2.0,
            sum: 8.0,
            max: Some(7.0),
        };
        meter.add(new, 30 * SECOND_NS, 40 * SECOND_NS);
        near(meter.events, 0.2);
        near(meter.mean, 4.0);
        near(meter.max, 7.0);
    }

    #[test]
    fn there_is_an_end_to_meters() {
        let mut meters = OtlpMeters::default();
        let point = |index: usize| MeterPoint {
            name: format!("order.{index}"),
            labels: Vec::new(),
            start_ns: 0,
            time_ns: SECOND_NS,
            value: PointValue::Level(1.0),
        };
        let points = (0..METERS_MAX + 7).map(point).collect();
        meters.add(
            MeterMessage {
                points,
                left_out: 0,
            },
            0,
        );
        assert_eq!(meters.meters.len(), METERS_MAX);
        assert_eq!(meters.too_many.as_deref(), Some("order.512"));
        // One that is known still counts.
        let points = vec![point(0)];
        meters.add(
            MeterMessage {
                points,
                left_out: 1,
            },
            SECOND_NS,
        );
        assert!(meters.has_received() && meters.not_understood);
    }
}
