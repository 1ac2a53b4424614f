//! The readings of one component: its settings, as it reports them or as its configuration has them, and its metrics.

use std::collections::BTreeSet;

use plimsoll_model::component::ComponentKind;
use plimsoll_model::reading::{Readings, label};
use plimsoll_model::{labels, metric};

/// Readings of one component.
pub(super) struct ComponentReadings<'a> {
    pub(super) at: &'a str,
    pub(super) readings: &'a Readings,
}

impl<'a> ComponentReadings<'a> {
    /// All components of a technology.
    pub(super) fn of(readings: &'a Readings, kind: ComponentKind) -> impl Iterator<Item = Self> {
        let places = places_of(readings, kind).into_iter();
        places.map(move |at| Self { at, readings })
    }

    pub(super) fn setting(&self, name: &str, of: &str) -> Option<(f64, &'a str)> {
        self.find(name, |label| label == of)
    }

    /// A setting of several things: what each is of, the value, and its file.
    pub(super) fn each(&self, name: &str) -> Vec<(&'a str, f64, &'a str)> {
        let settings = self.readings.values.iter();
        let own = settings.filter(|(series, _)| self.is_setting(series, name));
        let own = own.map(|(series, &value)| {
            let of = label(series, "of").unwrap_or_default();
            (of, value, label(series, "file").unwrap_or_default())
        });
        own.collect()
    }

    /// A setting that is one of several words: the word, and its file.
    pub(super) fn word(&self, name: &str) -> Option<(&'a str, &'a str)> {
        let mut settings = self.readings.values.keys();
        let series = settings.find(|series| self.is_setting(series, name))?;
        let file = label(series, "file").unwrap_or_default();
        Some((label(series, "of")?, file))
    }

    fn find(&self, name: &str, is_of: impl Fn(&str) -> bool) -> Option<(f64, &'a str)> {
        let mut settings = self.readings.values.iter();
        let (series, &value) = settings.find(|(series, _)| {
            self.is_setting(series, name) && is_of(label(series, "of").unwrap_or_default())
        })?;
        Some((value, label(series, "file").unwrap_or_default()))
    }

    pub(super) fn is_setting(&self, series: &str, name: &str) -> bool {
        series.starts_with(metric::SETTING)
            && label(series, "at") == Some(self.at)
            && label(series, "setting") == Some(name)
    }

    /// The value of a metric without further labels.
    pub(super) fn value(&self, metric: &str) -> Option<f64> {
        let series = metric::series(metric, &[("at", self.at)]);
        self.readings.values.get(&series).copied()
    }
}

/// Addresses of the components that report a metric.
pub(super) fn places_with<'a>(readings: &'a Readings, metric: &str) -> Vec<&'a str> {
    let all = readings.values.keys();
    let all = all.filter(|series| labels::metric(series) == metric);
    let mut all: Vec<&str> = all.filter_map(|series| label(series, "at")).collect();
    all.dedup();
    all
}

/// Addresses of the components of a technology, by their metrics, and by the settings of their configurations.
pub(super) fn places_of(readings: &Readings, kind: ComponentKind) -> Vec<&str> {
    let all = readings.values.keys();
    let own = all.filter(|series| {
        let metric = labels::metric(series);
        let is_configured = metric == metric::SETTING
            && label(series, "kind").is_some_and(|word| kind.words().first() == Some(&word));
        is_configured || ComponentKind::of_metric(metric) == Some(kind)
    });
    let places: BTreeSet<&str> = own.filter_map(|series| label(series, "at")).collect();
    places.into_iter().collect()
}

pub(super) fn written(file: &str) -> String {
    if file.is_empty() {
        String::new()
    } else {
        format!(" ({file})")
    }
}
