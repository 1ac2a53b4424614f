//! Runs of the same load one after another: each in short, and what does not recover from run to run.

use plimsoll_analysis::experiment::repeated::{self, RepeatedMetric};
use plimsoll_model::run::Run;
use schemars::JsonSchema;
use serde::Serialize;

use crate::history_page::{metric_label, quantity};
use crate::json::{self, Files, RunObject};
use crate::number::short;
use crate::pretty;
use crate::printable::printable;
use crate::report::Report;
use crate::text::Style;

/// The output of `plimsoll run --repeat --json`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "plimsoll run --repeat --json")]
pub struct RepeatObject {
    /// Version of this object, `major.minor`.
    pub format_version: String,
    /// Whether no metric grew from run to run; null when too few runs were valid.
    pub recovers: Option<bool>,
    /// The result in one sentence.
    pub answer: String,
    /// Metrics that must not grow from run to run.
    pub metrics: Vec<RepeatMetricObject>,
    /// The runs in order.
    pub runs: Vec<RunObject>,
}

/// A metric over the runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RepeatMetricObject {
    /// Its name.
    pub name: String,
    /// The value of each run; null where it was not measured.
    pub values: Vec<Option<f64>>,
    /// Increase by run; null with fewer than three values.
    pub slope: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Whether it stays level; null with fewer than three values.
    pub recovers: Option<bool>,
}

impl RepeatObject {
    /// Version of this object.
    pub const FORMAT_VERSION: &'static str = "1.0";

    /// The object of runs, each with the files that it wrote.
    pub fn of(runs: &[(&Run, &Files)]) -> Self {
        let only: Vec<&Run> = runs.iter().map(|(run, _)| *run).collect();
        let metrics = repeated::repeated(&only);
        let recovers = recovers(&metrics);
        Self {
            format_version: Self::FORMAT_VERSION.to_owned(),
            recovers,
            answer: answer(runs.len(), &metrics, recovers),
            metrics: metrics.iter().map(metric_object).collect(),
            runs: runs
                .iter()
                .map(|(run, files)| json::run_object(&Report::of(run), files))
                .collect(),
        }
    }

    /// As pretty JSON with a newline at the end.
    pub fn json(&self) -> String {
        pretty::object(self)
    }

    /// For the terminal: the answer, and a table of the metrics by run.
    pub fn summary(&self, colour: bool) -> String {
        let style = Style { colour };
        let code = match self.recovers {
            Some(true) => "1;32",
            Some(false) => "1;31",
            None => "1;33",
        };
        let mut lines = vec![style.paint(code, &printable(&self.answer)), String::new()];
        for (index, run) in self.runs.iter().enumerate() {
            let answer = printable(&run.answer);
            lines.push(style.labelled(&format!("run {}", index + 1), &answer));
        }
        lines.push(String::new());
        lines.extend(
            self.metrics
                .iter()
                .flat_map(|metric| metric_lines(metric, style)),
        );
        lines.join("\n") + "\n"
    }
}

/// The JSON schema of [`RepeatObject`].
pub fn schema() -> String {
    pretty::schema::<RepeatObject>()
}

fn recovers(metrics: &[RepeatedMetric]) -> Option<bool> {
    let mut known = metrics
        .iter()
        .filter_map(RepeatedMetric::recovers)
        .peekable();
    known.peek()?;
    Some(known.all(|recovers| recovers))
}

fn answer(runs: usize, metrics: &[RepeatedMetric], recovers: Option<bool>) -> String {
    let growing: Vec<String> = metrics
        .iter()
        .filter(|metric| metric.recovers() == Some(false))
        .map(|metric| metric_label(metric.name()))
        .collect();
    match recovers {
        None => format!("{runs} runs: too few valid ones to see whether the service recovers"),
        Some(true) => format!("{runs} runs: no metric grows from run to run"),
        Some(false) => format!(
            "The service does not recover: {} from run to run, over {runs} runs",
            match &growing[..] {
                [single] => format!("{single} grows"),
                [others @ .., last] => format!("{} and {last} grow", others.join(", ")),
                [] => String::new(),
            }
        ),
    }
}

fn metric_object(metric: &RepeatedMetric) -> RepeatMetricObject {
    let slope = metric.slope();
    RepeatMetricObject {
        name: metric.name().to_owned(),
        values: metric.values().to_vec(),
        slope: slope.map(|slope| slope.value),
        low: slope.map(|slope| slope.low),
        high: slope.map(|slope| slope.high),
        recovers: metric.recovers(),
    }
}

/// The values of the runs, and below them the slope.
fn metric_lines(metric: &RepeatMetricObject, style: Style) -> Vec<String> {
    let name = &metric.name;
    let values = metric
        .values
        .iter()
        .map(|value| value.map_or_else(|| "–".to_owned(), |value| quantity(name, value)));
    let values: Vec<String> = values.collect();
    let label = printable(&metric_label(name));
    let mut lines = vec![format!(
        "{}  {}",
        style.paint("2", &label),
        values.join(", ")
    )];
    let mut known = metric.values.iter().flatten();
    let first = known.next();
    if first.is_some() && known.all(|value| Some(value) == first) {
        lines.push("    the same in every run".to_owned());
    } else if let (Some(slope), Some(low), Some(high)) = (metric.slope, metric.low, metric.high) {
        let text = format!(
            "{} a run ({} to {})",
            signed(name, slope),
            signed(name, low),
            signed(name, high)
        );
        let judged = match metric.recovers {
            Some(false) => style.paint("31", ": does not recover"),
            _ => String::new(),
        };
        lines.push(format!("    {text}{judged}"));
    }
    lines
}

/// A difference with its sign.
fn signed(name: &str, value: f64) -> String {
    let sign = if value < 0.0 { "−" } else { "+" };
    let is_share = plimsoll_analysis::experiment::metrics::definition(name)
        .is_some_and(|definition| definition.unit == "1");
    if is_share {
        return format!("{sign}{} points", short(value.abs() * 100.0));
    }
    format!("{sign}{}", quantity(name, value.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_recover_is_named() {
        let object = RepeatObject {
            format_version: RepeatObject::FORMAT_VERSION.to_owned(),
            recovers: Some(false),
            answer: "The service does not recover: CPU grows from run to run, over 5 runs"
                .to_owned(),
            metrics: vec![RepeatMetricObject {
                name: "cpu".to_owned(),
                values: vec![Some(0.2), None, Some(0.41), Some(0.56), Some(0.61)],
                slope: Some(0.109),
                low: Some(0.082),
                high: Some(0.136),
                recovers: Some(false),
            }],
            runs: Vec::new(),
        };
        let text = object.summary(false);
        assert!(text.contains("CPU  20 %, –, 41 %, 56 %, 61 %"), "{text}");
        let slope = "+10.9 points a run (+8.2 points to +13.6 points): does not recover";
        assert!(text.contains(slope), "{text}");
    }
}
