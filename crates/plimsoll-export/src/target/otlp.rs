//! OTLP metrics over HTTP, in protobuf: sums and exponential histograms since the start of the run.

use std::collections::BTreeMap;
use std::sync::Arc;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AnyKind;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::exponential_histogram_data_point::Buckets;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, ExponentialHistogram, ExponentialHistogramDataPoint, Gauge, Metric,
    NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message as _;

use super::Target;
use crate::definition::MetricKind;
use crate::exponential::{Exponential, SCHEMA};
use crate::http::Receiver;
use crate::prometheus::ZERO_THRESHOLD_S;
use crate::record::{Point, Record, RunLabels, Value, seconds};
use crate::send_error::SendError;

/// The collector.
pub(super) struct Otlp {
    receiver: Receiver,
    run: RunLabels,
    /// Begin of the first second, ns since 1970: since when sums are counted.
    start_ns: Option<u64>,
}

impl Otlp {
    pub(super) fn new(receiver: Receiver, run: RunLabels) -> Self {
        Self {
            receiver,
            run,
            start_ns: None,
        }
    }
}

impl Target for Otlp {
    fn send(&mut self, records: &[Arc<Record>]) -> Result<(), SendError> {
        let mut metrics: BTreeMap<&str, Metric> = BTreeMap::new();
        for second in seconds(records) {
            let run_start = second
                .at_ms
                .saturating_sub(1_000 * (u64::from(second.run_time) + 1));
            let start = *self.start_ns.get_or_insert(run_start * 1_000_000);
            let at = second.at_ms * 1_000_000;
            for point in &second.points {
                let metric = metrics.entry(&point.definition.otlp);
                add(metric.or_insert_with(|| empty(point)), point, start, at);
            }
        }
        if metrics.is_empty() {
            return Ok(());
        }
        let request = request(metrics.into_values().collect(), &self.run);
        let headers = [("Content-Type", "application/x-protobuf")];
        let answer = self.receiver.post(&headers, &request.encode_to_vec())?;
        answer.accepted()
    }
}

fn request(metrics: Vec<Metric>, run: &RunLabels) -> ExportMetricsServiceRequest {
    let version = env!("CARGO_PKG_VERSION");
    let attributes = vec![
        attribute("service.name", "plimsoll"),
        attribute("service.version", version),
        attribute("service.instance.id", &run.run),
        attribute("plimsoll.run", &run.run),
        attribute("plimsoll.command", run.command),
    ];
    let scope = InstrumentationScope {
        name: "plimsoll".to_owned(),
        version: version.to_owned(),
        ..InstrumentationScope::default()
    };
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(Resource {
                attributes,
                ..Resource::default()
            }),
            scope_metrics: vec![ScopeMetrics {
                scope: Some(scope),
                metrics,
                ..ScopeMetrics::default()
            }],
            ..ResourceMetrics::default()
        }],
    }
}

fn attribute(key: &str, value: &str) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue {
            value: Some(AnyKind::StringValue(value.to_owned())),
        }),
        ..KeyValue::default()
    }
}

fn empty(point: &Point) -> Metric {
    let cumulative = AggregationTemporality::Cumulative.into();
    let definition = &point.definition;
    let data = match definition.kind {
        MetricKind::Gauge => Data::Gauge(Gauge::default()),
        MetricKind::Counter => Data::Sum(Sum {
            data_points: Vec::new(),
            aggregation_temporality: cumulative,
            is_monotonic: true,
        }),
        MetricKind::Histogram => Data::ExponentialHistogram(ExponentialHistogram {
            data_points: Vec::new(),
            aggregation_temporality: cumulative,
        }),
    };
    Metric {
        name: definition.otlp.to_string(),
        description: format!("{}.", definition.help),
        unit: definition.unit.to_string(),
        data: Some(data),
        ..Metric::default()
    }
}

fn add(metric: &mut Metric, point: &Point, start_ns: u64, at_ns: u64) {
    let labels = point.labels.iter();
    let attributes = labels
        .map(|(name, value)| attribute(attribute_name(name), value))
        .collect();
    match (&mut metric.data, &point.value) {
        (Some(Data::Gauge(gauge)), Value::Gauge(value)) => {
            gauge.data_points.push(number(*value, attributes, 0, at_ns));
        }
        (Some(Data::Sum(sum)), Value::Counter { total, .. }) => {
            sum.data_points
                .push(number(*total, attributes, start_ns, at_ns));
        }
        (Some(Data::ExponentialHistogram(histogram)), Value::Times { total, .. }) => {
            let mut times = times(total, start_ns, at_ns);
            times.attributes = attributes;
            histogram.data_points.push(times);
        }
        // A metric has one kind.
        _ => {}
    }
}

/// OpenTelemetry's name of a label of ours.
fn attribute_name(label: &str) -> &str {
    match label {
        "code" => "http.response.status_code",
        "outcome" => "plimsoll.outcome",
        "step" => "plimsoll.step",
        "page" => "plimsoll.page",
        other => other,
    }
}

fn number(value: f64, attributes: Vec<KeyValue>, start_ns: u64, at_ns: u64) -> NumberDataPoint {
    NumberDataPoint {
        attributes,
        start_time_unix_nano: start_ns,
        time_unix_nano: at_ns,
        value: Some(Number::AsDouble(value)),
        ..NumberDataPoint::default()
    }
}

/// Bucket `i` of OTLP holds `(b^i, b^(i+1)]`: one less than that of Prometheus. Its buckets have no gaps.
fn times(times: &Exponential, start_ns: u64, at_ns: u64) -> ExponentialHistogramDataPoint {
    let mut positive = Buckets::default();
    if let (Some((&first, _)), Some((&last, _))) = (
        times.buckets.first_key_value(),
        times.buckets.last_key_value(),
    ) {
        positive.offset = first - 1;
        let counts = (first..=last).map(|index| times.buckets.get(&index).copied().unwrap_or(0));
        positive.bucket_counts = counts.collect();
    }
    ExponentialHistogramDataPoint {
        start_time_unix_nano: start_ns,
        time_unix_nano: at_ns,
        count: times.count,
        sum: Some(times.sum_s),
        scale: SCHEMA,
        zero_count: times.zero,
        zero_threshold: ZERO_THRESHOLD_S,
        positive: Some(positive),
        ..ExponentialHistogramDataPoint::default()
    }
}
