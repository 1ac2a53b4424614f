//! Gauges of the application that the plan gives a limit, whichever collector reads them.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use plimsoll_model::component::GaugeLimit;
use plimsoll_model::reading::{Readings, label};
use plimsoll_model::{labels, metric};

use super::receiving::SILENT_MAX;
use crate::files::Files;

/// Names of other gauges that are listed where one was not found.
const OTHERS_MAX: usize = 5;

/// A gauge, and whether any collector has read it.
#[derive(Debug)]
struct WatchedGauge {
    limit: GaugeLimit,
    was_read: AtomicBool,
}

/// All gauges with a limit; collectors share them.
#[derive(Debug, Default)]
pub(crate) struct WatchedGauges {
    gauges: Vec<WatchedGauge>,
    samples: AtomicU32,
}

impl WatchedGauges {
    pub(crate) fn new(limits: Vec<GaugeLimit>) -> Self {
        let gauges = limits.into_iter().map(|limit| WatchedGauge {
            limit,
            was_read: AtomicBool::new(false),
        });
        Self {
            gauges: gauges.collect(),
            samples: AtomicU32::new(0),
        }
    }

    /// Whether gauges of this name may have a limit.
    pub(super) fn may_fit(&self, name: &str) -> bool {
        let mut gauges = self.gauges.iter();
        gauges.any(|gauge| gauge.limit.gauge().fits_name(name))
    }

    /// The limit of a gauge that was read, by its name and its own labels: of several that fit, the lowest.
    pub(super) fn limit(&self, name: &str, own: &[(String, String)]) -> Option<f64> {
        let mut lowest: Option<f64> = None;
        for gauge in &self.gauges {
            if gauge.limit.gauge().fits(name, own) {
                gauge.was_read.store(true, Ordering::Relaxed);
                let limit = gauge.limit.limit();
                lowest = Some(lowest.map_or(limit, |lowest| lowest.min(limit)));
            }
        }
        lowest
    }

    /// To be called once for each second that was sampled: notes those that nothing has read for long, once.
    pub(super) fn announce_missing(&self, readings: &Readings, files: &mut Files) {
        if self
            .samples
            .fetch_add(1, Ordering::Relaxed)
            .saturating_add(1)
            != SILENT_MAX
        {
            return;
        }
        let mut others: Vec<&str> = readings
            .values
            .keys()
            .filter(|series| labels::metric(series) == metric::FIGURES_LEVEL)
            .filter_map(|series| label(series, "name"))
            .collect();
        // They are sorted by component so far.
        others.sort_unstable();
        others.dedup();
        let count = others.len();
        others.truncate(OTHERS_MAX);
        let reported = match (count, others.join(", ")) {
            (0, _) => "no gauge was".to_owned(),
            (count, names) if count > OTHERS_MAX => format!("these and others were: {names}"),
            (_, names) => format!("these were: {names}"),
        };
        for gauge in &self.gauges {
            if !gauge.was_read.load(Ordering::Relaxed) {
                let name = gauge.limit.gauge();
                let text = format!(
                    "the gauge {name} of `gauges` was not reported in {SILENT_MAX} s; {reported}; check its name, and that \
                     it is a gauge"
                );
                files.announce(&format!("gauge {name}"), &text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::component::Selector;
    use plimsoll_model::metric::series;

    use super::*;

    fn gauges(limits: &[(&str, f64)]) -> WatchedGauges {
        let limits = limits.iter().map(|(name, limit)| {
            let gauge = Selector::of_meter(name).unwrap();
            GaugeLimit::new(gauge, *limit).unwrap()
        });
        WatchedGauges::new(limits.collect())
    }

    #[test]
    fn the_lowest_limit_that_fits_counts() {
        let gauges = gauges(&[("jobs.*", 100.0), ("jobs.waiting{queue=mail}", 20.0)]);
        let mail = [("queue".to_owned(), "mail".to_owned())];
        assert_eq!(gauges.limit("jobs.waiting", &mail), Some(20.0));
        assert_eq!(gauges.limit("jobs.waiting", &[]), Some(100.0));
        assert_eq!(gauges.limit("orders", &mail), None);
        assert!(gauges.may_fit("jobs.running") && !gauges.may_fit("orders"));
    }

    #[test]
    fn gauges_that_nothing_reports_are_noted_once() {
        let gauges = gauges(&[("jobs.waiting", 100.0), ("dreams", 1.0)]);
        let mut readings = Readings::default();
        for name in ["jobs.done", "jobs.waiting"] {
            let labels = [("at", "127.0.0.1:8125"), ("name", name)];
            let series = series(metric::FIGURES_LEVEL, &labels);
            readings.values.insert(series, 1.0);
        }
        gauges.limit("jobs.waiting", &[]);
        let mut files = Files::new("/".into());
        for _ in 1..SILENT_MAX {
            gauges.announce_missing(&readings, &mut files);
        }
        assert_eq!(files.take_announced(), Vec::<String>::new());
        for _ in 0..2 * SILENT_MAX {
            gauges.announce_missing(&readings, &mut files);
        }
        let right = "the gauge dreams of `gauges` was not reported in 10 s; these were: jobs.done, jobs.waiting; check its \
            name, and that it is a gauge";
        assert_eq!(files.take_announced(), [right]);
    }
}
