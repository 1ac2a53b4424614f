//! Both encodings of metrics, written by the code that is generated from the published schema.

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as ProtoValue;
use opentelemetry_proto::tonic::metrics::v1::exponential_histogram_data_point::Buckets;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as ProtoNumber;
use opentelemetry_proto::tonic::metrics::v1::{
    ExponentialHistogram, ExponentialHistogramDataPoint, Gauge, Histogram, HistogramDataPoint,
    Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum, Summary, SummaryDataPoint,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use proptest::prelude::*;
use prost::Message as _;

use super::super::tests::{attribute, text};
use super::*;
use crate::collectors::otlp::parse as spans;

const START_NS: u64 = 1_700_000_000_000_000_000;
const TIME_NS: u64 = 1_700_000_010_000_000_000;

fn number(value: ProtoNumber, attributes: Vec<KeyValue>) -> NumberDataPoint {
    NumberDataPoint {
        attributes,
        start_time_unix_nano: START_NS,
        time_unix_nano: TIME_NS,
        value: Some(value),
        ..NumberDataPoint::default()
    }
}

fn metric(name: &str, data: Data) -> Metric {
    Metric {
        name: name.to_owned(),
        unit: "{job}".to_owned(),
        data: Some(data),
        ..Metric::default()
    }
}

fn sum(temporality: u64, is_monotonic: bool, value: i64) -> Data {
    Data::Sum(Sum {
        data_points: vec![number(ProtoNumber::AsInt(value), Vec::new())],
        aggregation_temporality: i32::try_from(temporality).unwrap(),
        is_monotonic,
    })
}

fn histogram(temporality: u64) -> Data {
    Data::Histogram(Histogram {
        data_points: vec![HistogramDataPoint {
            start_time_unix_nano: START_NS,
            time_unix_nano: TIME_NS,
            count: 4,
            sum: Some(10.5),
            bucket_counts: vec![1, 3],
            explicit_bounds: vec![2.0],
            max: Some(5.5),
            ..HistogramDataPoint::default()
        }],
        aggregation_temporality: i32::try_from(temporality).unwrap(),
    })
}

fn message() -> ExportMetricsServiceRequest {
    let labels = vec![
        text("queue", "mail"),
        attribute("is_paused", ProtoValue::BoolValue(true)),
        attribute("shard", ProtoValue::IntValue(-3)),
    ];
    let level = vec![number(ProtoNumber::AsDouble(7.5), labels)];
    let exponential = ExponentialHistogram {
        data_points: vec![ExponentialHistogramDataPoint {
            start_time_unix_nano: START_NS,
            time_unix_nano: TIME_NS,
            attributes: vec![text("queue", "mail")],
            count: 2,
            sum: Some(3.0),
            scale: 3,
            negative: Some(Buckets {
                offset: 1,
                bucket_counts: vec![1],
            }),
            min: Some(-1.0),
            max: Some(2.0),
            ..ExponentialHistogramDataPoint::default()
        }],
        aggregation_temporality: i32::try_from(DELTA).unwrap(),
    };
    let metrics = vec![
        metric("jobs.waiting", Data::Gauge(Gauge { data_points: level })),
        metric("jobs.done", sum(CUMULATIVE, true, 40)),
        metric("jobs.failed", sum(DELTA, true, 2)),
        metric("jobs.running", sum(CUMULATIVE, false, -1)),
        metric("jobs.changed", sum(DELTA, false, 1)),
        metric("took", histogram(CUMULATIVE)),
        metric("waited", histogram(DELTA)),
        metric("size", Data::ExponentialHistogram(exponential)),
        metric(
            "old",
            Data::Summary(Summary {
                data_points: vec![SummaryDataPoint::default()],
            }),
        ),
    ];
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(Resource {
                attributes: vec![text("host.name", "a"), text("service.name", "shop")],
                ..Resource::default()
            }),
            scope_metrics: vec![ScopeMetrics {
                metrics,
                ..ScopeMetrics::default()
            }],
            ..ResourceMetrics::default()
        }],
    }
}

#[test]
fn both_encodings_have_the_same_points() {
    let service = ("service.name".to_owned(), "shop".to_owned());
    let right = |name: &str, labels: &[(&str, &str)], value: PointValue| {
        let labels = labels
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let mut labels: Vec<_> = labels.chain([service.clone()]).collect();
        labels.sort();
        MeterPoint {
            name: name.to_owned(),
            labels,
            start_ns: START_NS,
            time_ns: TIME_NS,
            value,
        }
    };
    let labels = [("is_paused", "true"), ("queue", "mail"), ("shard", "-3")];
    let (count, sum) = (4.0, 10.5);
    let max = Some(5.5);
    let points = vec![
        right("jobs.waiting", &labels, PointValue::Level(7.5)),
        right("jobs.done", &[], PointValue::Total(40.0)),
        right("jobs.failed", &[], PointValue::Increase(2.0)),
        right("jobs.running", &[], PointValue::Level(-1.0)),
        right("took", &[], PointValue::Events { count, sum }),
        right("waited", &[], PointValue::NewEvents { count, sum, max }),
        right(
            "size",
            &[("queue", "mail")],
            PointValue::NewEvents {
                count: 2.0,
                sum: 3.0,
                max: Some(2.0),
            },
        ),
    ];
    let right = MeterMessage {
        points,
        left_out: 2,
    };
    let message = message();
    assert_eq!(from_protobuf(&message.encode_to_vec()), Ok(right.clone()));
    let json = serde_json::to_vec(&message).unwrap();
    assert_eq!(
        from_json(&json),
        Ok(right),
        "{}",
        String::from_utf8_lossy(&json)
    );
    assert_eq!(from_protobuf(&[]), Ok(MeterMessage::default()));
    assert_eq!(from_json(b"{}"), Ok(MeterMessage::default()));
}

#[test]
fn the_reason_is_given() {
    let cut = &message().encode_to_vec()[..40];
    for (result, expected) in [
        (from_protobuf(cut), "buffer underflow"),
        (from_protobuf(b"GET / HTTP/1.1"), "invalid wire type value: 7"),
        (from_json(b"{"), "invalid JSON"),
        (from_json(b"[]"), "must hold `resourceMetrics`"),
        (
            from_json(br#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"gauge":{"dataPoints":1}}]}]}]}"#),
            "`dataPoints` is not a list",
        ),
    ] {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(expected), "`{expected}` is not in `{error}`");
    }
}

#[test]
fn points_without_a_value_and_with_too_much_are_left_out() {
    let mut message = message();
    let metrics = &mut message.resource_metrics[0].scope_metrics[0].metrics;
    let gauge = |points: Vec<NumberDataPoint>| {
        Data::Gauge(Gauge {
            data_points: points,
        })
    };
    let point = number(ProtoNumber::AsInt(1), Vec::new());
    let many = (0..LABELS_MAX).map(|index| text(&index.to_string(), "x"));
    let points = vec![
        NumberDataPoint {
            flags: 1,
            ..point.clone()
        },
        NumberDataPoint {
            value: None,
            ..point.clone()
        },
        number(ProtoNumber::AsDouble(f64::NAN), Vec::new()),
        number(ProtoNumber::AsInt(1), many.collect()),
        number(ProtoNumber::AsInt(1), vec![text("a", &"é".repeat(400))]),
    ];
    *metrics = vec![
        metric("a", gauge(points)),
        metric(&"n".repeat(NAME_LEN_MAX + 1), gauge(vec![point.clone()])),
    ];
    // A point that says itself that it has no value is not missed.
    let right = MeterMessage {
        points: Vec::new(),
        left_out: 5,
    };
    assert_eq!(from_protobuf(&message.encode_to_vec()), Ok(right));
    let metrics = &mut message.resource_metrics[0].scope_metrics[0].metrics;
    *metrics = vec![metric("a", gauge(vec![point; POINTS_MAX + 1]))];
    let error = from_protobuf(&message.encode_to_vec()).unwrap_err();
    assert!(
        error.to_string().contains("more than 20000 points"),
        "{error}"
    );
}

/// The bytes with another one at a place.
fn broken(mut bytes: Vec<u8>, at: usize, with: u8) -> Vec<u8> {
    let at = at % bytes.len();
    bytes[at] = with;
    bytes
}

// Of messages of metrics, and of those of spans.
proptest! {
    #[test]
    fn no_bytes_are_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = (from_protobuf(&bytes), from_json(&bytes));
        let _ = (spans::from_protobuf(&bytes), spans::from_json(&bytes));
    }

    #[test]
    fn a_message_may_be_broken_anywhere(at in 0_usize..1200, with in any::<u8>()) {
        let (metrics, traces) = (message(), spans::tests::message());
        let bytes = broken(metrics.encode_to_vec(), at, with);
        let _ = (from_protobuf(&bytes), from_protobuf(&bytes[..at % bytes.len()]));
        let _ = from_json(&broken(serde_json::to_vec(&metrics).unwrap(), at, with));
        let bytes = broken(traces.encode_to_vec(), at, with);
        let _ = (spans::from_protobuf(&bytes), spans::from_protobuf(&bytes[..at % bytes.len()]));
        let _ = spans::from_json(&broken(serde_json::to_vec(&traces).unwrap(), at, with));
    }
}
