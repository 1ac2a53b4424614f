//! The page that Prometheus scrapes: as text, or in protobuf with native histograms.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use prost::Message as _;

use super::messages::{
    Label, MetricFamily, ScrapedBucket, ScrapedHistogram, ScrapedMetric, ScrapedValue,
};
use super::{ZERO_THRESHOLD_S, buckets, labels};
use crate::definition::{Definition, MetricKind};
use crate::exponential::{BOUNDS_US, Exponential, SCHEMA};
use crate::record::{Point, RunLabels, Value};

/// Media types of the two forms.
pub(crate) const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
pub(crate) const PROTOBUF: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// Points by metric.
pub(crate) struct Families<'a>(BTreeMap<&'a str, (&'a Definition, Vec<&'a Point>)>);

impl<'a> Families<'a> {
    pub(crate) fn of(points: impl Iterator<Item = &'a Point>) -> Self {
        let mut families: BTreeMap<&str, (&Definition, Vec<&Point>)> = BTreeMap::new();
        for point in points {
            let name = &*point.definition.prometheus;
            let family = families.entry(name);
            family
                .or_insert((&point.definition, Vec::new()))
                .1
                .push(point);
        }
        Self(families)
    }

    /// The page as text.
    pub(crate) fn text(&self, run: &RunLabels) -> String {
        let mut text = String::new();
        for (name, (definition, points)) in &self.0 {
            let kind = match definition.kind {
                MetricKind::Counter => "counter",
                MetricKind::Gauge => "gauge",
                MetricKind::Histogram => "histogram",
            };
            let help = definition.help.replace('\\', "\\\\").replace('\n', "\\n");
            let _ = writeln!(text, "# HELP {name} {help}.\n# TYPE {name} {kind}");
            for point in points {
                sample(&mut text, name, point, run);
            }
        }
        text
    }

    /// The page in protobuf: messages with their length in front.
    pub(crate) fn protobuf(&self, run: &RunLabels) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, (definition, points)) in &self.0 {
            let kind = match definition.kind {
                MetricKind::Counter => 0,
                MetricKind::Gauge => 1,
                MetricKind::Histogram => 4,
            };
            let family = MetricFamily {
                name: Some((*name).to_owned()),
                help: Some(format!("{}.", definition.help)),
                r#type: Some(kind),
                metric: points.iter().map(|point| metric(point, run)).collect(),
            };
            bytes.extend(family.encode_length_delimited_to_vec());
        }
        bytes
    }
}

fn sample(text: &mut String, name: &str, point: &Point, run: &RunLabels) {
    let mut shared = String::new();
    for (label, value) in labels(point, run)
        .iter()
        .filter(|(label, _)| *label != "job")
    {
        let value = value
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n");
        let comma = if shared.is_empty() { "" } else { "," };
        let _ = write!(shared, "{comma}{label}=\"{value}\"");
    }
    let _ = match &point.value {
        Value::Counter { total: value, .. } | Value::Gauge(value) => {
            writeln!(text, "{name}{{{shared}}} {value}")
        }
        Value::Times { total, .. } => {
            for (bound_us, count) in BOUNDS_US.into_iter().zip(total.up_to) {
                let bound = bound_us as f64 / 1e6;
                let _ = writeln!(text, "{name}_bucket{{{shared},le=\"{bound}\"}} {count}");
            }
            let (count, sum) = (total.count, total.sum_s);
            writeln!(
                text,
                "{name}_bucket{{{shared},le=\"+Inf\"}} {count}\n\
                 {name}_sum{{{shared}}} {sum}\n{name}_count{{{shared}}} {count}"
            )
        }
    };
}

fn metric(point: &Point, run: &RunLabels) -> ScrapedMetric {
    let labels = labels(point, run).into_iter();
    let label = labels
        .filter(|(name, _)| name != "job")
        .map(|(name, value)| Label { name, value });
    let mut metric = ScrapedMetric {
        label: label.collect(),
        ..ScrapedMetric::default()
    };
    match &point.value {
        Value::Counter { total, .. } => {
            metric.counter = Some(ScrapedValue {
                value: Some(*total),
            });
        }
        Value::Gauge(level) => {
            metric.gauge = Some(ScrapedValue {
                value: Some(*level),
            });
        }
        Value::Times { total, .. } => metric.histogram = Some(histogram(total)),
    }
    metric
}

fn histogram(times: &Exponential) -> ScrapedHistogram {
    let (positive_span, positive_delta) = buckets(times);
    let bounds = BOUNDS_US.into_iter().zip(times.up_to);
    let bucket = bounds.map(|(bound_us, count)| ScrapedBucket {
        cumulative_count: Some(count),
        upper_bound: Some(bound_us as f64 / 1e6),
    });
    ScrapedHistogram {
        sample_count: Some(times.count),
        sample_sum: Some(times.sum_s),
        bucket: bucket.collect(),
        schema: Some(SCHEMA),
        zero_threshold: Some(ZERO_THRESHOLD_S),
        zero_count: Some(times.zero),
        positive_span,
        positive_delta,
    }
}
