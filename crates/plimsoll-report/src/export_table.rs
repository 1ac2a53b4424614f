//! The tables of a run, for notebooks, `DuckDB` and spreadsheets; CSV and Parquet write the same ones.
//!
//! Times are in µs, as measured. Missing values are empty, never zero.

use plimsoll_analysis::summary::{answered, percentiles};
use plimsoll_model::finding::{Evidence, Finding};
use plimsoll_model::labels;
use plimsoll_model::outcome::Outcome;
use plimsoll_model::run::Run;
use plimsoll_model::trial::{Percentiles, Trial};
use plimsoll_model::window::Window;

use crate::answer;
use crate::json::certainty_name;

mod steps;
mod visits;
mod websockets;

/// A table of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunTable {
    /// One row for each second of results.
    Windows,
    /// One row for each sample of a probe.
    Readings,
    /// One row for each line of evidence, best finding first.
    Findings,
    /// One row for each judged trial.
    Trials,
    /// One row for each journey, step and group, in the order of the plan; without journeys none.
    Steps,
    /// One row for each visit of a browser, in the order of their ends; without `browser` none.
    Visits,
}

impl RunTable {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Windows,
        Self::Readings,
        Self::Findings,
        Self::Trials,
        Self::Steps,
        Self::Visits,
    ];

    /// Its name, as files have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Windows => "windows",
            Self::Readings => "readings",
            Self::Findings => "findings",
            Self::Trials => "trials",
            Self::Steps => "steps",
            Self::Visits => "visits",
        }
    }

    pub(crate) fn of(self, run: &Run) -> ExportTable {
        match self {
            Self::Windows => windows(run),
            Self::Readings => readings(run),
            Self::Findings => findings(run),
            Self::Trials => trials(run),
            Self::Steps => steps::steps(run),
            Self::Visits => visits::visits(run),
        }
    }
}

/// A column's name and how to take its value from a row.
type Pick<Row, Value> = (&'static str, fn(&Row) -> Value);

/// Values of one column, one a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ColumnValues {
    /// Whole numbers.
    Counts(Vec<Option<u64>>),
    /// Numbers.
    Numbers(Vec<Option<f64>>),
    /// Texts.
    Texts(Vec<Option<String>>),
}

/// A named column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    /// Name with its unit, such as `response_us_p95`.
    pub(crate) name: String,
    /// Its values.
    pub(crate) values: ColumnValues,
}

/// A table; all columns have the same length.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ExportTable {
    /// From left to right.
    pub(crate) columns: Vec<Column>,
}

impl ExportTable {
    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.columns
            .first()
            .map_or(0, |column| match &column.values {
                ColumnValues::Counts(values) => values.len(),
                ColumnValues::Numbers(values) => values.len(),
                ColumnValues::Texts(values) => values.len(),
            })
    }

    pub(crate) fn push(&mut self, name: impl Into<String>, values: ColumnValues) {
        let name = name.into();
        self.columns.push(Column { name, values });
    }

    pub(crate) fn counts(&mut self, name: impl Into<String>, values: impl Iterator<Item = u64>) {
        self.push(name, ColumnValues::Counts(values.map(Some).collect()));
    }

    pub(crate) fn numbers(&mut self, name: impl Into<String>, values: impl Iterator<Item = f64>) {
        // Not every reader supports NaN; it means a missing value.
        let values = values.map(|value| value.is_finite().then_some(value));
        self.push(name, ColumnValues::Numbers(values.collect()));
    }

    pub(crate) fn texts(&mut self, name: impl Into<String>, values: impl Iterator<Item = String>) {
        self.push(name, ColumnValues::Texts(values.map(Some).collect()));
    }

    fn percentiles(&mut self, prefix: &str, rows: &[Option<Percentiles>]) {
        let picks: [Pick<Percentiles, u64>; 6] = [
            ("p50", |times| times.p50),
            ("p90", |times| times.p90),
            ("p95", |times| times.p95),
            ("p99", |times| times.p99),
            ("p999", |times| times.p999),
            ("max", |times| times.max),
        ];
        for (name, pick) in picks {
            let values = rows.iter().map(|row| row.as_ref().map(pick));
            self.push(
                format!("{prefix}_{name}"),
                ColumnValues::Counts(values.collect()),
            );
        }
        let means = rows.iter().map(|row| row.as_ref().map(|times| times.mean));
        self.push(
            format!("{prefix}_mean"),
            ColumnValues::Numbers(means.collect()),
        );
    }
}

fn windows(run: &Run) -> ExportTable {
    let rows = &run.windows;
    let mut table = ExportTable::default();
    let counts: [Pick<Window, u64>; 4] = [
        ("second", |window| u64::from(window.second)),
        ("offered", |window| window.offered),
        ("sent", |window| window.sent),
        ("completed", answered),
    ];
    for (name, pick) in counts {
        table.counts(name, rows.iter().map(pick));
    }
    for outcome in Outcome::ALL {
        let counts = rows.iter().map(|window| window.outcomes.get(outcome));
        table.counts(outcome.name(), counts);
    }
    for class in 1..=5_u16 {
        let of_class = move |window: &Window| {
            window
                .status
                .range(class * 100..(class + 1) * 100)
                .map(|pair| pair.1)
                .sum()
        };
        table.counts(format!("status_{class}xx"), rows.iter().map(of_class));
    }
    let times =
        |pick: fn(&Window) -> &plimsoll_model::histogram::Histogram| -> Vec<Option<Percentiles>> {
            rows.iter()
                .map(|window| percentiles(pick(window)))
                .collect()
        };
    table.percentiles("response_us", &times(|window| &window.response));
    table.percentiles("service_us", &times(|window| &window.service));
    let lag = rows.iter().map(|window| window.lag.quantile(0.99));
    table.push("lag_us_p99", ColumnValues::Counts(lag.collect()));
    table.numbers(
        "in_flight_mean",
        rows.iter().map(|window| window.in_flight_mean),
    );
    let counts: [Pick<Window, u64>; 13] = [
        ("in_flight", |window| window.in_flight),
        ("waiting", |window| window.waiting),
        ("connections", |window| window.connections),
        ("connections_opened", |window| window.connections_opened),
        ("handshakes", |window| window.handshakes),
        ("bytes_in", |window| window.bytes_in),
        ("bytes_out", |window| window.bytes_out),
        ("gzip", |window| window.gzip),
        ("brotli", |window| window.brotli),
        ("http2", |window| window.http2),
        ("redirects", |window| window.redirects),
        ("retries", |window| window.retries),
        ("loop_cpu_us", |window| window.generator.loop_cpu_us),
    ];
    for (name, pick) in counts {
        table.counts(name, rows.iter().map(pick));
    }
    if run.header.plan.receives_broadcasts() {
        websockets::columns(&mut table, rows);
    }
    // Percentiles of several seconds come from merged histograms only, so they are here too.
    let histograms = rows.iter().map(|window| {
        let response = &window.response;
        (!response.is_empty()).then(|| response.to_v2_base64())
    });
    table.push(
        "response_histogram_v2",
        ColumnValues::Texts(histograms.collect()),
    );
    table
}

fn readings(run: &Run) -> ExportTable {
    let readings = &run.readings;
    let mut rows: Vec<(u32, &str, f64)> = Vec::new();
    for name in readings.names() {
        let values = readings.values(name).unwrap_or_default();
        let read = readings
            .seconds()
            .iter()
            .zip(values)
            .filter(|(_, value)| !value.is_nan());
        rows.extend(read.map(|(&second, &value)| (second, name, value)));
    }
    let unit = |name: &str| {
        readings
            .info(name)
            .map_or_else(String::new, |info| info.unit.clone())
    };
    let mut table = ExportTable::default();
    table.counts("second", rows.iter().map(|row| u64::from(row.0)));
    table.texts("series", rows.iter().map(|row| row.1.to_owned()));
    let metric = |name: &str| labels::metric(name).to_owned();
    table.texts("metric", rows.iter().map(|row| metric(row.1)));
    table.texts("unit", rows.iter().map(|row| unit(row.1)));
    table.numbers("value", rows.iter().map(|row| row.2));
    table
}

fn findings(run: &Run) -> ExportTable {
    let mut rows: Vec<(u64, &Finding, Option<&Evidence>)> = Vec::new();
    for (rank, finding) in (1..).zip(&run.findings) {
        if finding.evidence.is_empty() {
            rows.push((rank, finding, None));
        }
        rows.extend(
            finding
                .evidence
                .iter()
                .map(|line| (rank, finding, Some(line))),
        );
    }
    let mut table = ExportTable::default();
    table.counts("rank", rows.iter().map(|row| row.0));
    let texts: [Pick<Finding, String>; 5] = [
        ("rule", |finding| finding.rule.clone()),
        ("limit", |finding| finding.limit.clone()),
        ("certainty", |finding| {
            certainty_name(finding.certainty).to_owned()
        }),
        ("sentence", |finding| finding.sentence.clone()),
        ("remedy", |finding| finding.remedy.clone()),
    ];
    for (name, pick) in texts {
        table.texts(name, rows.iter().map(|row| pick(row.1)));
    }
    table.numbers("score", rows.iter().map(|row| row.1.score));
    let consequence = rows.iter().map(|row| row.1.consequence_of.clone());
    table.push("consequence_of", ColumnValues::Texts(consequence.collect()));
    if !run.readings.machines().is_empty() {
        let machines = rows.iter().map(|row| row.1.machine.clone());
        table.push("machine", ColumnValues::Texts(machines.collect()));
    }
    let texts: [Pick<Evidence, String>; 3] = [
        ("series", |line| line.series.clone()),
        ("label", |line| line.label.clone()),
        ("unit", |line| line.unit.clone()),
    ];
    for (name, pick) in texts {
        table.push(
            name,
            ColumnValues::Texts(rows.iter().map(|row| row.2.map(pick)).collect()),
        );
    }
    let numbers: [Pick<Evidence, Option<f64>>; 4] = [
        ("base", |line| line.base),
        ("passing", |line| line.passing),
        ("failing", |line| line.failing),
        ("bound", |line| line.bound),
    ];
    for (name, pick) in numbers {
        table.push(
            name,
            ColumnValues::Numbers(rows.iter().map(|row| row.2.and_then(pick)).collect()),
        );
    }
    table
}

fn trials(run: &Run) -> ExportTable {
    let rows = &run.trials;
    let mut table = ExportTable::default();
    table.counts("trial", rows.iter().map(|trial| u64::from(trial.index)));
    table.texts(
        "kind",
        rows.iter().map(|trial| trial.spec.kind.name().to_owned()),
    );
    table.numbers("rate", rows.iter().map(|trial| trial.spec.rate));
    table.texts(
        "unit",
        rows.iter().map(|trial| trial.spec.unit.symbol().to_owned()),
    );
    table.texts(
        "verdict",
        rows.iter().map(|trial| trial.verdict.name().to_owned()),
    );
    let why = rows
        .iter()
        .map(|trial| answer::trial_reason(&trial.verdict));
    table.push("why", ColumnValues::Texts(why.collect()));
    let counts: [Pick<Trial, u64>; 7] = [
        ("start_second", |trial| u64::from(trial.start_second)),
        ("judged_from", |trial| u64::from(trial.measured.0)),
        ("judged_until", |trial| u64::from(trial.measured.1)),
        ("requests", |trial| trial.requests),
        ("bad", |trial| trial.bad),
        ("errors", |trial| trial.errors),
        ("lag_us_p99", |trial| trial.lag_us_p99),
    ];
    for (name, pick) in counts {
        table.counts(name, rows.iter().map(pick));
    }
    let good = |trial: &Trial| (trial.requests > trial.errors).then_some(trial.response_us);
    let times: Vec<Option<Percentiles>> = rows.iter().map(good).collect();
    table.percentiles("response_us", &times);
    let reached = rows.iter().map(|trial| trial.objective_us);
    table.push("objective_us", ColumnValues::Counts(reached.collect()));
    table.numbers("completed", rows.iter().map(|trial| trial.throughput));
    table.numbers(
        "in_flight_mean",
        rows.iter().map(|trial| trial.in_flight_mean),
    );
    table.numbers(
        "generator_cpu",
        rows.iter().map(|trial| trial.generator_cpu),
    );
    table
}
