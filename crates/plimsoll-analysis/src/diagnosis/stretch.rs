//! The three stretches, and questions to one of them.

use plimsoll_model::component::ComponentKind;
use plimsoll_model::finding::Evidence;
use plimsoll_model::histogram::Histogram;
use plimsoll_model::journey::StepInfo;
use plimsoll_model::reading::{SeriesTable, label};
use plimsoll_model::window::{GeneratorUse, Window};
use plimsoll_model::{labels, metric};

use crate::content::WeighedPage;
use crate::diagnosis::{Context, SecondRange, Stretches};
use crate::machines::{MachineTable, MachineTier};

/// B, P and F on one machine.
pub(crate) struct Stretch3<'a> {
    pub(crate) base: View<'a>,
    pub(crate) passing: View<'a>,
    pub(crate) failing: View<'a>,
    /// Names of the scenario's steps; empty where they are not known.
    pub(crate) steps: &'a [StepInfo],
    /// Whether broadcasts carry a number or a time, so that two of one content are one message.
    pub(crate) identifies_messages: bool,
    /// Pages that browsers weighed, and that the load requests.
    pub(crate) pages: &'a [WeighedPage],
}

/// Readings of one machine, and windows, of one stretch.
pub(crate) struct View<'a> {
    readings: &'a SeriesTable,
    machine: &'a MachineTable<'a>,
    /// All machines, this one among them.
    machines: &'a [MachineTable<'a>],
    windows: Vec<&'a Window>,
    /// Rows of `readings` that belong to the stretch.
    rows: Vec<usize>,
    pub(crate) context: &'a Context,
}

/// Values of one second.
#[derive(Clone, Copy)]
pub(crate) struct SecondValues<'a> {
    readings: &'a SeriesTable,
    row: usize,
}

impl SecondValues<'_> {
    /// The value of a series, where it was read.
    pub(crate) fn get(self, series: &str) -> Option<f64> {
        let value = *self.readings.values(series)?.get(self.row)?;
        (!value.is_nan()).then_some(value)
    }
}

impl<'a> Stretch3<'a> {
    /// The stretches on each machine, in the order of the tables: the generator's own is the first.
    pub(crate) fn on_each(
        machines: &'a [MachineTable<'a>],
        windows: &'a [Window],
        stretches: &Stretches,
        context: &'a Context,
    ) -> Vec<Self> {
        let on = |machine: &'a MachineTable<'a>| {
            let view =
                |spans: &[SecondRange]| View::new((machine, machines), windows, spans, context);
            Self {
                base: view(&stretches.base),
                passing: view(stretches.passing.as_slice()),
                failing: view(stretches.failing.as_slice()),
                steps: &[],
                identifies_messages: false,
                pages: &[],
            }
        };
        machines.iter().map(on).collect()
    }

    /// With the names of the scenario's steps.
    pub(crate) fn naming(self, steps: &'a [StepInfo]) -> Self {
        Self { steps, ..self }
    }

    /// With the pages that browsers weighed.
    pub(crate) fn weighing(self, pages: &'a [WeighedPage]) -> Self {
        Self { pages, ..self }
    }

    /// With what the plan says of broadcasts.
    pub(crate) fn identifying_messages(self, identifies_messages: bool) -> Self {
        Self {
            identifies_messages,
            ..self
        }
    }

    /// Evidence: the mean of a series in the three stretches.
    pub(crate) fn line(&self, series: &str, label: &str) -> Evidence {
        let info = self.failing.readings.info(series);
        Evidence {
            series: series.to_owned(),
            label: label.to_owned(),
            unit: info.map_or("1", |info| &info.unit).to_owned(),
            base: self.base.mean(series),
            passing: self.passing.mean(series),
            failing: self.failing.mean(series),
            bound: None,
        }
    }

    /// Evidence from the windows: a question put to each stretch.
    pub(crate) fn evidence(
        &self,
        (series, label, unit): (&str, &str, &str),
        measure: impl Fn(&View<'_>) -> Option<f64>,
    ) -> Evidence {
        Evidence {
            series: series.to_owned(),
            label: label.to_owned(),
            unit: unit.to_owned(),
            base: measure(&self.base),
            passing: measure(&self.passing),
            failing: measure(&self.failing),
            bound: None,
        }
    }
}

/// Sets the bound that was crossed.
pub(crate) fn bounded(mut line: Evidence, bound: Option<f64>) -> Evidence {
    line.bound = bound;
    line
}

impl<'a> View<'a> {
    fn new(
        (machine, machines): (&'a MachineTable<'a>, &'a [MachineTable<'a>]),
        windows: &'a [Window],
        spans: &[SecondRange],
        context: &'a Context,
    ) -> Self {
        let inside = |second: u32| spans.iter().any(|&(from, to)| (from..to).contains(&second));
        let readings = machine.readings();
        let seconds = readings.seconds().iter().enumerate();
        Self {
            readings,
            machine,
            machines,
            windows: windows
                .iter()
                .filter(|window| inside(window.second))
                .collect(),
            rows: seconds
                .filter(|&(_, &second)| inside(second))
                .map(|(row, _)| row)
                .collect(),
            context,
        }
    }

    /// Whether the stretch was measured at all.
    pub(crate) fn is_measured(&self) -> bool {
        !self.rows.is_empty() || !self.windows.is_empty()
    }

    /// The machine, as its agent is called; `None` for the generator's own.
    pub(crate) fn machine(&self) -> Option<&'a str> {
        self.machine.name()
    }

    /// What Plimsoll itself is on the machine: the process of its series.
    pub(crate) fn own_process(&self) -> &'static str {
        match self.machine() {
            None => metric::GENERATOR,
            Some(_) => metric::AGENT,
        }
    }

    /// Where the machine stands on the way of a request.
    pub(crate) fn tier(&self) -> MachineTier {
        self.machine.tier()
    }

    /// Whether the readings are of the target's machine. Logs without this field have one machine, which counts as such.
    pub(crate) fn target_is_local(&self) -> bool {
        match self.max(metric::TARGET_IS_LOCAL) {
            Some(local) => local > 0.0,
            None => self.machine().is_none(),
        }
    }

    /// Whether the machine serves requests: the target runs there, or an agent watches it.
    pub(crate) fn serves_requests(&self) -> bool {
        self.machine().is_some() || self.target_is_local()
    }

    /// The same in one second; `None` where it was not read.
    pub(crate) fn serves_requests_in(&self, row: SecondValues<'_>) -> Option<bool> {
        match self.machine() {
            Some(_) => Some(true),
            None => Some(row.get(metric::TARGET_IS_LOCAL)? > 0.0),
        }
    }

    /// Whether the target runs on a machine that an agent watches.
    pub(crate) fn target_is_watched(&self) -> bool {
        let mut remote = self.machines.iter().filter(|it| it.name().is_some());
        remote.any(MachineTable::runs_target)
    }

    /// Readings of the other machines.
    pub(crate) fn elsewhere(&self) -> impl Iterator<Item = &'a SeriesTable> {
        let own = self.machine();
        let machines: &'a [MachineTable<'a>] = self.machines;
        let others = machines.iter().filter(move |it| it.name() != own);
        others.map(MachineTable::readings)
    }

    /// Whether the machine has this series.
    pub(crate) fn has_series(&self, series: &str) -> bool {
        self.readings.values(series).is_some()
    }

    pub(crate) fn windows(&self) -> &[&'a Window] {
        &self.windows
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = SecondValues<'a>> {
        let readings = self.readings;
        self.rows
            .iter()
            .map(move |&row| SecondValues { readings, row })
    }

    /// Series of a metric.
    pub(crate) fn series_of(&self, metric: &'a str) -> impl Iterator<Item = &'a str> {
        self.readings.names_of(metric)
    }

    /// Whether a component of this technology was scraped.
    pub(crate) fn has_component(&self, kind: ComponentKind) -> bool {
        let mut metrics = self.readings.names().map(labels::metric);
        metrics.any(|metric| ComponentKind::of_metric(metric) == Some(kind))
    }

    /// A setting of the component at `at`: its value, and the file where it is written, if that is known.
    pub(crate) fn setting(&self, at: &str, name: &str, of: &str) -> Option<(f64, Option<&'a str>)> {
        let is_it = |series: &&str| {
            label(series, "at") == Some(at)
                && label(series, "setting") == Some(name)
                && label(series, "of").unwrap_or_default() == of
        };
        let series = self.series_of(metric::SETTING).find(is_it)?;
        Some((self.max(series)?, label(series, "file")))
    }

    fn values(&self, series: &str) -> impl Iterator<Item = f64> {
        let values = self.readings.values(series).unwrap_or(&[]);
        self.rows
            .iter()
            .filter_map(|&row| values.get(row).copied())
            .filter(|value| !value.is_nan())
    }

    pub(crate) fn mean(&self, series: &str) -> Option<f64> {
        let (sum, count) = self
            .values(series)
            .fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
        (count > 0).then(|| sum / f64::from(count))
    }

    pub(crate) fn max(&self, series: &str) -> Option<f64> {
        self.values(series).reduce(f64::max)
    }

    pub(crate) fn min(&self, series: &str) -> Option<f64> {
        self.values(series).reduce(f64::min)
    }

    /// Seconds and values of a series, gaps left out.
    pub(crate) fn points(&self, series: &str) -> Vec<(f64, f64)> {
        let values = self.readings.values(series).unwrap_or(&[]);
        let seconds = self.readings.seconds();
        let points = self.rows.iter().filter_map(|&row| {
            let value = *values.get(row)?;
            Some((f64::from(*seconds.get(row)?), value))
        });
        points.filter(|point| !point.1.is_nan()).collect()
    }

    /// Share of the seconds with readings in which `holds` is true: `S{p}` requires 0.2. Seconds in which `holds` is
    /// undecided are left out; `None` when it always is.
    pub(crate) fn share_of_seconds(
        &self,
        holds: impl Fn(SecondValues<'_>) -> Option<bool>,
    ) -> Option<f64> {
        let decided: Vec<bool> = self.rows().filter_map(holds).collect();
        let true_ones = decided.iter().filter(|&&held| held).count();
        (!decided.is_empty()).then(|| true_ones as f64 / decided.len() as f64)
    }

    /// Sum over the windows; `None` without windows.
    pub(crate) fn sum(&self, count: impl Fn(&Window) -> u64) -> Option<u64> {
        (!self.windows.is_empty()).then(|| self.windows.iter().map(|window| count(window)).sum())
    }

    /// Sum of what the generator used, per second.
    pub(crate) fn generator_per_second(&self, count: impl Fn(&GeneratorUse) -> u64) -> Option<f64> {
        let sum = self.sum(|window| count(&window.generator))?;
        Some(sum as f64 / self.windows.len() as f64)
    }

    /// Quantile of the generator's lag over the whole stretch, µs.
    pub(crate) fn lag_us(&self, quantile: f64) -> Option<u64> {
        let mut lag = Histogram::new();
        for window in &self.windows {
            lag.merge(&window.lag);
        }
        lag.quantile(quantile)
    }
}
