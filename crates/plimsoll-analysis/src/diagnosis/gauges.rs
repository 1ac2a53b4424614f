//! Utilisation of each watched resource, as a share of its capacity.

use plimsoll_model::metric;
use plimsoll_model::reading::{SeriesTable, label};

use crate::diagnosis::SecondRange;
use crate::diagnosis::component::place;
use crate::diagnosis::rule_id::RuleId;

/// A resource whose utilisation is known.
#[derive(Clone, Debug)]
pub(crate) struct Gauge {
    /// Its name in texts.
    pub(crate) name: String,
    /// Address of its component; empty for the machine.
    pub(crate) at: String,
    /// Rules that name it when it is full.
    pub(crate) rules: &'static [RuleId],
    /// Share from which it is full.
    pub(crate) full: f64,
    /// It counts concurrent items, which grow with response times too (Little's law), not only with load.
    pub(crate) is_population: bool,
    level: String,
    whole: Whole,
}

/// What a level is a share of.
#[derive(Clone, Debug)]
enum Whole {
    /// It is a share already.
    Unit,
    /// It is the share that is free.
    Free,
    /// The mean of another series.
    Series(String),
}

impl Gauge {
    /// Mean utilisation over a stretch, 0 to 1 and above.
    pub(crate) fn share(&self, readings: &SeriesTable, (from, to): SecondRange) -> Option<f64> {
        let mean = |series: &str| {
            let values = readings.between(series, from, to);
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let level = mean(&self.level)?;
        match &self.whole {
            Whole::Unit => Some(level),
            Whole::Free => Some(1.0 - level),
            Whole::Series(whole) => {
                let whole = mean(whole).filter(|&whole| whole > 0.0)?;
                Some(level / whole)
            }
        }
    }

    /// What the level is a share of.
    pub(crate) fn of_whole(self, whole: String) -> Self {
        Self {
            whole: Whole::Series(whole),
            ..self
        }
    }

    /// The level is the share that is free.
    pub(crate) fn of_free(self) -> Self {
        Self {
            whole: Whole::Free,
            ..self
        }
    }
}

/// The series of a metric that are shares: their rules, from which share they are full, and their name.
pub(crate) fn shares(
    readings: &SeriesTable,
    metric: &str,
    (rules, full): (&'static [RuleId], f64),
    name: &str,
) -> Vec<Gauge> {
    let own = readings.names_of(metric);
    own.map(|series| share(series, rules, full, name)).collect()
}

/// The series of a metric that count occupied slots, as many as a setting of their component allows.
pub(crate) fn slots(
    readings: &SeriesTable,
    metric: &str,
    (setting, rules): (&str, &'static [RuleId]),
    name: &str,
) -> Vec<Gauge> {
    let own = readings.names_of(metric);
    let gauges = own.filter_map(|series| {
        let whole = setting_of(readings, place(series), setting)?;
        Some(population(series, whole, rules, name))
    });
    gauges.collect()
}

/// A series that is a share.
pub(crate) fn share(series: &str, rules: &'static [RuleId], full: f64, name: &str) -> Gauge {
    let at = label(series, "at").unwrap_or_default();
    let what = label(series, "system.device").or(label(series, "at"));
    Gauge {
        name: match what {
            Some(what) => format!("{name} ({what})"),
            None => name.to_owned(),
        },
        at: at.to_owned(),
        rules,
        full,
        is_population: false,
        level: series.to_owned(),
        whole: Whole::Unit,
    }
}

/// A series that counts concurrent items, and the series of their limit.
pub(crate) fn population(
    series: &str,
    whole: String,
    rules: &'static [RuleId],
    name: &str,
) -> Gauge {
    Gauge {
        is_population: true,
        ..share(series, rules, 0.95, name).of_whole(whole)
    }
}

/// The series of a setting of the component at an address.
pub(crate) fn setting_of(readings: &SeriesTable, at: &str, setting: &str) -> Option<String> {
    let mut own = readings.names_of(metric::SETTING);
    let own = own.find(|series| place(series) == at && label(series, "setting") == Some(setting));
    own.map(str::to_owned)
}
