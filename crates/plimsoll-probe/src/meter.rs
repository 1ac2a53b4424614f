//! Converts gauges and counters to the readings of one second.

use std::collections::{BTreeMap, HashMap, HashSet};

use plimsoll_model::machine::on_machine;
use plimsoll_model::metric;
use plimsoll_model::reading::{Readings, SeriesInfo};

use crate::series;

/// Limit of series in one run; further ones are left out.
const SERIES_MAX: usize = 4096;
/// A total not read for this long is forgotten, ns.
const TOTAL_AGE_MAX_NS: u64 = 60_000_000_000;

/// A counter as it was read last.
#[derive(Clone, Copy, Debug)]
struct Total {
    value: u64,
    at_ns: u64,
}

/// How much a counter rose since it was read last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rise {
    /// Increase.
    pub(crate) by: u64,
    /// Time it took, s; above zero.
    pub(crate) seconds: f64,
}

impl Rise {
    /// Increase per second.
    pub(crate) fn per_second(self) -> f64 {
        self.by as f64 / self.seconds
    }
}

#[derive(Debug, Default)]
pub(crate) struct Meter {
    now_ns: u64,
    /// The previous sampling time.
    before_ns: Option<u64>,
    values: BTreeMap<String, f64>,
    new_series: BTreeMap<String, SeriesInfo>,
    known: HashSet<String>,
    totals: HashMap<String, Total>,
    /// A counter that decreased since the last call.
    fallen: Option<String>,
}

impl Meter {
    /// Begins the readings of the moment `now_ns`.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        self.before_ns = (self.now_ns > 0).then_some(self.now_ns);
        self.now_ns = now_ns;
    }

    /// A level.
    pub(crate) fn gauge(&mut self, metric: &'static str, labels: &[(&str, &str)], value: f64) {
        self.put(metric, metric::series(metric, labels), value);
    }

    /// A counter with the value `total`; its increase per second times `scale` becomes the value.
    pub(crate) fn counter(
        &mut self,
        metric: &'static str,
        labels: &[(&str, &str)],
        total: u64,
        scale: f64,
    ) {
        let name = metric::series(metric, labels);
        if let Some(rise) = self.rise(&name, total) {
            self.put(metric, name, rise.per_second() * scale);
        }
    }

    /// A counter kept by the probe, not by the watched program: a new one was zero at the previous sampling time.
    pub(crate) fn tally(&mut self, metric: &'static str, labels: &[(&str, &str)], total: u64) {
        let name = metric::series(metric, labels);
        if let Some(at_ns) = self.before_ns {
            let none = Total { value: 0, at_ns };
            self.totals.entry(name).or_insert(none);
        }
        self.counter(metric, labels, total, 1.0);
    }

    /// How much the counter `key` rose; `None` the first time, after a reset, and twice in the same moment.
    pub(crate) fn rise(&mut self, key: &str, total: u64) -> Option<Rise> {
        let now = Total {
            value: total,
            at_ns: self.now_ns,
        };
        let Some(before) = self.totals.get_mut(key) else {
            self.totals.insert(key.to_owned(), now);
            return None;
        };
        let before = std::mem::replace(before, now);
        let Some(by) = total.checked_sub(before.value) else {
            self.fallen.get_or_insert_with(|| key.to_owned());
            return None;
        };
        let seconds = now.at_ns.saturating_sub(before.at_ns) as f64 / 1e9;
        (seconds > 0.0).then_some(Rise { by, seconds })
    }

    /// A counter that decreased since the last call: it wrapped around, or the program was restarted.
    pub(crate) fn take_fallen(&mut self) -> Option<String> {
        self.fallen.take()
    }

    /// The program was restarted: earlier values are not comparable.
    pub(crate) fn forget_totals(&mut self) {
        self.totals.clear();
    }

    /// A value with a complete series name.
    fn put(&mut self, metric: &'static str, name: String, value: f64) {
        if !value.is_finite() {
            return;
        }
        if !self.known.contains(&name) {
            // Untrusted names become part of the series name, and control characters would reach the terminal.
            if self.known.len() >= SERIES_MAX || name.contains(char::is_control) {
                return;
            }
            let definition = series::definition(metric);
            debug_assert!(definition.is_some(), "{metric} has no definition");
            if let Some(definition) = definition {
                self.new_series.insert(name.clone(), definition.info());
            }
            self.known.insert(name.clone());
        }
        self.values.insert(name, value);
    }

    /// Adds what another meter read, as series of a machine.
    pub(crate) fn take_over(&mut self, readings: Readings, machine: &str) {
        for (own, info) in readings.new_series {
            let name = on_machine(&own, machine);
            if self.known.len() < SERIES_MAX && self.known.insert(name.clone()) {
                self.new_series.insert(name, info);
            }
        }
        let named = readings.values.into_iter();
        let named = named.map(|(own, value)| (on_machine(&own, machine), value));
        let known = &self.known;
        self.values
            .extend(named.filter(|(name, _)| known.contains(name)));
    }

    /// The readings since [`Meter::begin`].
    pub(crate) fn finish(&mut self, second: u32) -> Readings {
        let now_ns = self.now_ns;
        self.totals
            .retain(|_, total| now_ns.saturating_sub(total.at_ns) < TOTAL_AGE_MAX_NS);
        Readings {
            second,
            values: std::mem::take(&mut self.values),
            new_series: std::mem::take(&mut self.new_series),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_become_increases_per_second() {
        let mut meter = Meter::default();
        meter.begin(1_000_000_000);
        meter.counter(metric::LISTEN_DROPS, &[], 100, 1.0);
        assert!(meter.finish(0).values.is_empty());
        meter.begin(3_000_000_000);
        meter.counter(metric::LISTEN_DROPS, &[], 110, 1.0);
        let readings = meter.finish(1);
        let drops = readings.values[metric::LISTEN_DROPS];
        assert!((drops - 5.0).abs() < 1e-9, "{drops}");
        assert_eq!(readings.new_series.len(), 1);
        // A counter that fell was reset: no value, and no second definition.
        meter.begin(4_000_000_000);
        meter.counter(metric::LISTEN_DROPS, &[], 3, 1.0);
        assert_eq!(
            meter.finish(2),
            Readings {
                second: 2,
                ..Readings::default()
            }
        );
        assert_eq!(meter.take_fallen().as_deref(), Some(metric::LISTEN_DROPS));
        assert_eq!(meter.take_fallen(), None);
        // A restarted counter above its old value has not increased by the difference.
        meter.forget_totals();
        meter.begin(5_000_000_000);
        meter.counter(metric::LISTEN_DROPS, &[], 500, 1.0);
        assert!(meter.finish(3).values.is_empty() && meter.take_fallen().is_none());
    }

    #[test]
    fn readings_of_a_machine_keep_their_meaning() {
        let (mut own, mut theirs) = (Meter::default(), Meter::default());
        for second in 1..3 {
            own.begin(second * 1_000_000_000);
            own.gauge(metric::CPU_COUNT, &[], 8.0);
            theirs.begin(second * 1_000_000_000);
            theirs.gauge(metric::CPU_COUNT, &[], 2.0);
            own.take_over(theirs.finish(0), "db1");
            let readings = own.finish(0);
            let name = "system.cpu.logical.count{host.name=db1}";
            let [here, there] = [metric::CPU_COUNT, name].map(|name| readings.values.get(name));
            assert_eq!((here, there), (Some(&8.0), Some(&2.0)));
            // Each is defined once.
            assert_eq!(readings.new_series.contains_key(name), second == 1);
        }
    }

    #[test]
    fn a_tally_is_whole_from_its_first_moment() {
        let mut meter = Meter::default();
        let labels = |of| [("class", "limited"), ("of", of)];
        let seconds: [(u64, u64, Option<u64>, &[f64]); 3] = [
            (1, 0, None, &[]),
            (2, 4, Some(6), &[6.0, 4.0]),
            (3, 4, Some(9), &[3.0, 0.0]),
        ];
        for (second, old, new, wanted) in seconds {
            meter.begin(second * 1_000_000_000);
            meter.tally(metric::LOG_FAILURES_OF, &labels("old"), old);
            if let Some(new) = new {
                meter.tally(metric::LOG_FAILURES_OF, &labels("new"), new);
            }
            let values: Vec<f64> = meter.finish(0).values.into_values().collect();
            assert_eq!(values, wanted, "in second {second}");
        }
    }
}
