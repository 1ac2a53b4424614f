//! Converts a component's metrics to series: each carries the component's address.

use std::net::IpAddr;

use plimsoll_model::metric;
use plimsoll_model::reading::Readings;

use super::gauges::WatchedGauges;
use crate::clock;
use crate::meter::Meter;

/// Longest text of a meter's own labels, bytes.
const OWN_LABELS_LEN_MAX: usize = 512;

/// A setting from the component's configuration files, not from its response.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FileSetting {
    pub(crate) name: &'static str,
    /// What it belongs to; empty where there is only one.
    pub(crate) of: String,
    pub(crate) value: f64,
    /// File and line.
    pub(crate) file: String,
}

impl FileSetting {
    /// A number, and the place where it is written; empty for a default.
    pub(crate) fn number(name: &'static str, value: f64, file: impl Into<String>) -> Self {
        Self {
            name,
            of: String::new(),
            value,
            file: file.into(),
        }
    }

    /// One of several words: it takes the place of what the setting belongs to.
    pub(crate) fn word(name: &'static str, word: &str, file: impl Into<String>) -> Self {
        Self {
            of: word.to_owned(),
            ..Self::number(name, 1.0, file)
        }
    }
}

/// Facts about a component that are known before it is scraped.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ComponentMetadata {
    /// Settings from its configuration.
    pub(crate) settings: Vec<FileSetting>,
    /// Its process, where it runs on this machine.
    pub(crate) pid: Option<u32>,
    /// The process that names it, if it was discovered and not configured.
    pub(crate) named_by: Option<u32>,
    /// Its pool of PHP-FPM, if that has no status page.
    pub(crate) pool: Option<String>,
    /// Line format of its log, if its configuration sets one.
    pub(crate) log_format: Option<String>,
    /// Where the target listens, for components that show another machine: it may be this one.
    pub(crate) target: Option<IpAddr>,
}

/// Records the metrics of one response.
#[derive(Debug)]
pub(crate) struct MetricsRecorder<'a> {
    pub(super) meter: &'a mut Meter,
    /// Gauges of the application that have a limit.
    pub(super) gauges: &'a WatchedGauges,
    pub(super) at: &'a str,
    /// Identity of the component's process at the last scrape.
    pub(super) identity: &'a mut Option<String>,
    pub(super) was_restarted: &'a mut bool,
    /// Keys, each reported once, and texts.
    pub(super) notes: &'a mut Vec<(&'static str, String)>,
}

/// Where a collector records a scrape.
#[derive(Debug)]
pub(crate) struct Sink<'a> {
    metrics: MetricsRecorder<'a>,
    /// When the response was complete, ns of the monotonic clock.
    answered_ns: Option<u64>,
}

impl<'a> Sink<'a> {
    pub(super) fn new(metrics: MetricsRecorder<'a>) -> Self {
        Self {
            metrics,
            answered_ns: None,
        }
    }

    /// To be called when the response is complete: it is recorded as of this moment. A failure before it closes the
    /// connection; one after it is the response's own.
    pub(crate) fn answered(&mut self) -> &mut MetricsRecorder<'a> {
        if self.answered_ns.is_none() {
            let now_ns = clock::now_ns();
            self.answered_ns = Some(now_ns);
            self.metrics.meter.begin(now_ns);
        }
        &mut self.metrics
    }

    pub(super) fn answered_ns(&self) -> Option<u64> {
        self.answered_ns
    }
}

impl MetricsRecorder<'_> {
    /// Sets the identity of the process: a new one starts its counters from zero. To be called before any counter.
    pub(crate) fn identity(&mut self, identity: &str) {
        if self
            .identity
            .as_deref()
            .is_some_and(|before| before != identity)
        {
            self.meter.forget_totals();
            *self.was_restarted = true;
        }
        *self.identity = Some(identity.to_owned());
    }

    /// Adds a note, once for each key.
    pub(crate) fn note(&mut self, key: &'static str, text: &str) {
        self.notes.push((key, text.to_owned()));
    }

    /// A gauge, where it was reported.
    pub(crate) fn level(
        &mut self,
        metric: &'static str,
        labels: &[(&str, &str)],
        value: Option<f64>,
    ) {
        if let Some(value) = value {
            self.meter
                .gauge(metric, &with_place(self.at, labels), value);
        }
    }

    /// A counter, where it was reported.
    pub(crate) fn counter(
        &mut self,
        metric: &'static str,
        labels: &[(&str, &str)],
        total: Option<u64>,
        scale: f64,
    ) {
        if let Some(total) = total {
            let labels = with_place(self.at, labels);
            self.meter.counter(metric, &labels, total, scale);
        }
    }

    /// Whether the plan gives gauges of the application of this name a limit.
    pub(crate) fn has_limit(&self, name: &str) -> bool {
        self.gauges.may_fit(name)
    }

    /// A gauge of the application, by its name and its own labels, with the limit that the plan gives it.
    pub(crate) fn own_gauge(&mut self, name: &str, own: &[(String, String)], value: f64) {
        let of = own_labels(own);
        let labels = [("name", name), ("of", of.as_str())];
        let labels = &labels[..if of.is_empty() { 1 } else { 2 }];
        self.level(metric::FIGURES_LEVEL, labels, Some(value));
        self.level(metric::FIGURES_LIMIT, labels, self.gauges.limit(name, own));
    }

    /// A counter of the application, where its increase per second is known.
    pub(crate) fn own_counter(
        &mut self,
        name: &str,
        own: &[(String, String)],
        per_second: Option<f64>,
    ) {
        let of = own_labels(own);
        let labels = [("name", name), ("of", of.as_str())];
        let labels = &labels[..if of.is_empty() { 1 } else { 2 }];
        self.level(metric::FIGURES_INCREASE, labels, per_second);
    }

    /// A counter that the collector keeps itself, from zero.
    pub(crate) fn tally(&mut self, metric: &'static str, labels: &[(&str, &str)], total: u64) {
        self.meter
            .tally(metric, &with_place(self.at, labels), total);
    }

    /// What was read of another machine.
    pub(crate) fn of_machine(&mut self, machine: &str, readings: Readings) {
        self.meter.take_over(readings, machine);
    }

    /// Settings that were found in files.
    pub(crate) fn known(&mut self, settings: &[FileSetting]) {
        for found in settings {
            self.setting(found.name, &found.of, &found.file, Some(found.value));
        }
    }

    /// A setting, where it was reported; `file` is empty where it is unknown.
    pub(crate) fn setting(&mut self, name: &str, of: &str, file: &str, value: Option<f64>) {
        let mut labels = vec![("setting", name)];
        if !of.is_empty() {
            labels.push(("of", of));
        }
        if !file.is_empty() {
            labels.push(("file", file));
        }
        self.level(metric::SETTING, &labels, value);
    }
}

/// A meter's own labels as one text: `code:500 method:get`.
fn own_labels(own: &[(String, String)]) -> String {
    let mut text = String::new();
    for (name, value) in own {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(name);
        text.push(':');
        text.push_str(value);
        if text.len() > OWN_LABELS_LEN_MAX {
            // A character has at most four bytes, the ellipsis among them.
            text = text.chars().take(OWN_LABELS_LEN_MAX / 4 - 1).collect();
            text.push('…');
            break;
        }
    }
    text
}

fn with_place<'a>(at: &'a str, labels: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    std::iter::once(("at", at))
        .chain(labels.iter().copied())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_labels_are_one_text() {
        let own = [("code", "500"), ("m", "get")];
        let mut own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(own_labels(&own), "code:500 m:get");
        for long in ["é".repeat(400), "😀".repeat(400)] {
            own[0].1 = long;
            let text = own_labels(&own);
            assert!(
                text.len() <= OWN_LABELS_LEN_MAX && text.ends_with('…'),
                "{text}"
            );
        }
    }
}
