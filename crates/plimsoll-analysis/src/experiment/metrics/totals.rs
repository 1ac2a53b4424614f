//! What is added up over stretches of a run, and the values taken of it.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::histogram::Histogram;
use plimsoll_model::labels;
use plimsoll_model::metric;
use plimsoll_model::outcome::OutcomeCounts;
use plimsoll_model::reading::SeriesTable;
use plimsoll_model::run::Run;
use plimsoll_model::window::StepWindow;

use super::definition::{
    ALL_PREFIX, CPU, CPU_PER_REQUEST, DISK, ERRORS, FAILED, FAILED_PREFIX, FAST, MAX, MEAN, MEMORY,
    MIDDLE, MIN, OK, P50, P75, P90, P95, P99, REQUESTS, SD, SLOW, THROUGHPUT,
};
use super::{MetricValues, StepKey};
use crate::machines::{MachineTable, tables};
use crate::summary::{Classes, MeasuredSpan, answered};

/// Results of requests over some stretches.
#[derive(Clone, Debug, Default)]
pub(super) struct SpanTotals {
    /// Seconds in which requests became due.
    seconds: f64,
    offered: u64,
    /// Complete answers in these seconds.
    answered: u64,
    outcomes: OutcomeCounts,
    good: Histogram,
    failed: Histogram,
    steps: BTreeMap<StepKey, StepWindow>,
}

impl SpanTotals {
    /// All that `spans` of `run` hold.
    pub(super) fn of(run: &Run, spans: &[MeasuredSpan]) -> Self {
        let mut totals = Self::default();
        for span in spans {
            totals.seconds += span.seconds;
            for window in run.windows_between(span.from, span.until) {
                totals.offered += window.offered;
                totals.outcomes.merge(&window.outcomes);
                totals.good.merge(&window.response);
                totals.failed.merge(&window.failed);
                if window.second < span.due_until {
                    totals.answered += answered(window);
                }
                for (&id, step) in &window.steps {
                    if let Some(key) = step_key(run, id) {
                        totals.steps.entry(key).or_default().merge(step);
                    }
                }
            }
        }
        totals
    }

    /// Requests that ended.
    pub(super) fn requests(&self) -> u64 {
        self.outcomes.total()
    }

    /// Of these, good.
    pub(super) fn good(&self) -> u64 {
        self.requests() - self.outcomes.failed()
    }

    /// Throughput, errors, counts and times.
    pub(super) fn values(&self, bounds_ms: [u64; 2]) -> MetricValues {
        let mut values = requests(&self.outcomes);
        if self.seconds > 0.0 {
            values.insert(THROUGHPUT.to_owned(), self.answered as f64 / self.seconds);
        }
        let classes = Classes::of(&self.good, self.outcomes.failed(), bounds_ms);
        for (name, count) in [
            (FAST, classes.fast),
            (MIDDLE, classes.middle),
            (SLOW, classes.slow),
        ] {
            values.insert(name.to_owned(), count as f64);
        }
        let mut all = self.good.clone();
        all.merge(&self.failed);
        add_times(&mut values, "", &self.good);
        add_times(&mut values, ALL_PREFIX, &all);
        add_times(&mut values, FAILED_PREFIX, &self.failed);
        values
    }

    /// Throughput of an open load that offers `nominal` requests per second. Chance of the arrivals is the same for
    /// those that became due and those that were answered, so it cancels in their ratio.
    pub(super) fn throughput_of_open(&self, nominal: f64) -> Option<f64> {
        (self.offered > 0).then(|| self.answered as f64 / self.offered as f64 * nominal)
    }

    /// Requests, errors and times of good answers by step.
    pub(super) fn steps(&self) -> BTreeMap<StepKey, MetricValues> {
        let steps = self.steps.iter().map(|(key, step)| {
            let mut values = requests(&step.outcomes);
            add_times(&mut values, "", &step.response);
            (key.clone(), values)
        });
        steps.collect()
    }
}

/// Journey and label of a step that counts; steps of `once` are taken while the load still grows.
fn step_key(run: &Run, id: plimsoll_model::journey::StepId) -> Option<StepKey> {
    let scenario = run.header.plan.scenario.as_ref()?;
    let step = scenario.steps.get(usize::try_from(id).ok()?)?;
    let journey = scenario.journeys.get(usize::try_from(step.journey).ok()?)?;
    (!step.once).then(|| (journey.name.clone(), step.label.clone()))
}

fn requests(outcomes: &OutcomeCounts) -> MetricValues {
    let (total, failed) = (outcomes.total(), outcomes.failed());
    let mut values = MetricValues::new();
    let counts = [(REQUESTS, total), (OK, total - failed), (FAILED, failed)];
    values.extend(counts.map(|(name, count)| (name.to_owned(), count as f64)));
    if total > 0 {
        values.insert(ERRORS.to_owned(), failed as f64 / total as f64);
    }
    values
}

fn add_times(values: &mut MetricValues, prefix: &str, histogram: &Histogram) {
    let micros = |quantile| histogram.quantile(quantile).map(|us| us as f64);
    let times = [
        (
            MIN,
            histogram.buckets().first().map(|bucket| bucket.0 as f64),
        ),
        (MAX, histogram.max().map(|us| us as f64)),
        (MEAN, histogram.mean()),
        (SD, histogram.standard_deviation()),
        (P50, micros(0.50)),
        (P75, micros(0.75)),
        (P90, micros(0.90)),
        (P95, micros(0.95)),
        (P99, micros(0.99)),
    ];
    for (name, us) in times {
        if let Some(us) = us {
            values.insert(format!("{prefix}{name}"), us / 1e3);
        }
    }
}

/// CPU and memory by process over `spans` in which `requests` ended. Series that have no value in more than half of the
/// seconds are left out.
pub(super) fn resources(run: &Run, spans: &[MeasuredSpan], requests: u64) -> MetricValues {
    let mut values = MetricValues::new();
    let machines = tables(&run.readings);
    // Where the target runs, or else the generator's own.
    let machine = machines.iter().find(|machine| machine.runs_target());
    let Some(table) = machine.or(machines.first()).map(MachineTable::readings) else {
        return values;
    };
    let processes: BTreeSet<&str> = table
        .names()
        .filter_map(|name| labels::label(name, "process"))
        .filter(|process| ![metric::GENERATOR, metric::AGENT].contains(process))
        .collect();
    for process in processes {
        let name = |metric: &str| match process {
            metric::TARGET => metric.to_owned(),
            process => labels::series(metric, &[("process", process)]),
        };
        let modes = ["user", "system"].map(|mode| {
            let labels = [("process", process), ("cpu.mode", mode)];
            readings(
                table,
                spans,
                &labels::series(metric::PROCESS_CPU_TIME, &labels),
            )
        });
        if let [Some(user), Some(system)] = modes
            && requests > 0
        {
            let sum_s: f64 = user.iter().chain(&system).sum();
            values.insert(name(CPU_PER_REQUEST), 1e3 * sum_s / requests as f64);
        }
        for (metric, series) in [(CPU, metric::PROCESS_CPU), (MEMORY, metric::PROCESS_MEMORY)] {
            let series = labels::series(series, &[("process", process)]);
            if let Some(read) = readings(table, spans, &series) {
                let mean = read.iter().sum::<f64>() / read.len() as f64;
                values.insert(name(metric), mean);
            }
        }
    }
    let disks = table.names_of(metric::DISK_UTILIZATION);
    let busy = disks.filter_map(|name| {
        let read = readings(table, spans, name)?;
        Some(read.iter().sum::<f64>() / read.len() as f64)
    });
    if let Some(busiest) = busy.max_by(f64::total_cmp) {
        values.insert(DISK.to_owned(), busiest);
    }
    values
}

fn readings(table: &SeriesTable, spans: &[MeasuredSpan], series: &str) -> Option<Vec<f64>> {
    let of = |span: &MeasuredSpan| table.between(series, span.from, span.due_until);
    let values: Vec<f64> = spans.iter().flat_map(of).collect();
    let seconds: f64 = spans.iter().map(|span| span.seconds).sum();
    (!values.is_empty() && 2.0 * values.len() as f64 >= seconds).then_some(values)
}
