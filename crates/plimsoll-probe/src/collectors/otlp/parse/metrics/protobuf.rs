//! The protobuf of `opentelemetry/proto/metrics/v1/metrics.proto`, as far as it is kept. As in the protobuf of spans, lists
//! stay encoded until their items are used, and texts are bytes.

use prost::Message;
use prost::bytes::Bytes;

use super::super::OtlpDecodeError;
use super::super::protobuf::{KeyValue, Resource, shortened_bytes};
use super::{EncodedPoint, MeterMessage, PointFamily, is_resource_label};

#[derive(Clone, PartialEq, Message)]
struct ExportMetricsServiceRequest {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    resource_metrics: Vec<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceMetrics {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(bytes = "bytes", repeated, tag = "2")]
    scope_metrics: Vec<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeMetrics {
    #[prost(bytes = "bytes", repeated, tag = "2")]
    metrics: Vec<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
struct Metric {
    #[prost(bytes = "bytes", tag = "1")]
    name: Bytes,
    #[prost(message, optional, tag = "5")]
    gauge: Option<Points>,
    #[prost(message, optional, tag = "7")]
    sum: Option<Points>,
    #[prost(message, optional, tag = "9")]
    histogram: Option<Points>,
    #[prost(message, optional, tag = "10")]
    exponential_histogram: Option<Points>,
    #[prost(message, optional, tag = "11")]
    summary: Option<Points>,
}

/// `Gauge`, `Sum`, `Histogram` and `ExponentialHistogram`.
#[expect(clippy::struct_field_names, reason = "the names of the schema")]
#[derive(Clone, PartialEq, Message)]
struct Points {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    data_points: Vec<Bytes>,
    #[prost(uint64, tag = "2")]
    aggregation_temporality: u64,
    #[prost(bool, tag = "3")]
    is_monotonic: bool,
}

#[derive(Clone, PartialEq, Message)]
struct NumberDataPoint {
    #[prost(fixed64, tag = "2")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "3")]
    time_unix_nano: u64,
    #[prost(double, optional, tag = "4")]
    as_double: Option<f64>,
    #[prost(sfixed64, optional, tag = "6")]
    as_int: Option<i64>,
    #[prost(bytes = "bytes", repeated, tag = "7")]
    attributes: Vec<Bytes>,
    #[prost(uint64, tag = "8")]
    flags: u64,
}

/// `HistogramDataPoint` and `ExponentialHistogramDataPoint`, whose schemas number some of the same fields differently.
#[derive(Clone, PartialEq, Message)]
struct HistogramDataPoint {
    /// Attributes of an exponential one.
    #[prost(bytes = "bytes", repeated, tag = "1")]
    exponential_attributes: Vec<Bytes>,
    #[prost(fixed64, tag = "2")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "3")]
    time_unix_nano: u64,
    #[prost(fixed64, optional, tag = "4")]
    count: Option<u64>,
    #[prost(double, optional, tag = "5")]
    sum: Option<f64>,
    /// Of an exponential one: its negative buckets.
    #[prost(bytes = "bytes", repeated, tag = "9")]
    attributes: Vec<Bytes>,
    #[prost(uint64, tag = "10")]
    flags: u64,
    /// Of an exponential one: its minimum.
    #[prost(double, optional, tag = "12")]
    max: Option<f64>,
    /// Maximum of an exponential one.
    #[prost(double, optional, tag = "13")]
    exponential_max: Option<f64>,
}

/// A value of another type has none of these.
#[expect(clippy::struct_field_names, reason = "the names of the schema")]
#[derive(Clone, PartialEq, Message)]
struct LabelValue {
    #[prost(bytes = "bytes", optional, tag = "1")]
    string_value: Option<Bytes>,
    #[prost(bool, optional, tag = "2")]
    bool_value: Option<bool>,
    #[prost(int64, optional, tag = "3")]
    int_value: Option<i64>,
    #[prost(double, optional, tag = "4")]
    double_value: Option<f64>,
}

/// Reads a message of metrics.
///
/// # Errors
/// When the bytes break the format, with the reason.
pub fn from_protobuf(bytes: &[u8]) -> Result<MeterMessage, OtlpDecodeError> {
    let mut message = MeterMessage::default();
    // Its parts share this copy.
    let request = ExportMetricsServiceRequest::decode(Bytes::copy_from_slice(bytes))?;
    for bytes in request.resource_metrics {
        let of_resource = ResourceMetrics::decode(bytes)?;
        let attributes = of_resource.resource.unwrap_or_default().attributes;
        let mut resource = labels(attributes)?;
        resource.retain(|(name, _)| is_resource_label(name));
        for bytes in of_resource.scope_metrics {
            for bytes in ScopeMetrics::decode(bytes)?.metrics {
                add(Metric::decode(bytes)?, &resource, &mut message)?;
            }
        }
    }
    Ok(message)
}

fn add(
    metric: Metric,
    resource: &[(String, String)],
    message: &mut MeterMessage,
) -> Result<(), OtlpDecodeError> {
    let name = shortened_bytes(&metric.name);
    let sum_of = |points: &Points| PointFamily::Sum {
        is_monotonic: points.is_monotonic,
        temporality: points.aggregation_temporality,
    };
    let histogram_of = |points: &Points| PointFamily::Histogram {
        temporality: points.aggregation_temporality,
    };
    let unknown: PointReader = |_| Ok(EncodedPoint::default());
    let all: [Option<(PointFamily, Points, PointReader)>; 5] = [
        metric
            .gauge
            .map(|points| (PointFamily::Gauge, points, number as PointReader)),
        metric
            .sum
            .map(|points| (sum_of(&points), points, number as PointReader)),
        metric
            .histogram
            .map(|points| (histogram_of(&points), points, histogram as PointReader)),
        metric
            .exponential_histogram
            .map(|points| (histogram_of(&points), points, exponential as PointReader)),
        metric
            .summary
            .map(|points| (PointFamily::Unknown, points, unknown)),
    ];
    for (family, points, point) in all.into_iter().flatten() {
        for bytes in points.data_points {
            message.add((&name, family), resource, point(bytes)?)?;
        }
    }
    Ok(())
}

/// Decodes a point.
type PointReader = fn(Bytes) -> Result<EncodedPoint, OtlpDecodeError>;

fn number(bytes: Bytes) -> Result<EncodedPoint, OtlpDecodeError> {
    let read = NumberDataPoint::decode(bytes)?;
    let whole = read.as_int.map(|number| number as f64);
    Ok(EncodedPoint {
        labels: labels(read.attributes)?,
        start_ns: read.start_time_unix_nano,
        time_ns: read.time_unix_nano,
        flags: read.flags,
        number: read.as_double.or(whole),
        ..EncodedPoint::default()
    })
}

fn histogram(bytes: Bytes) -> Result<EncodedPoint, OtlpDecodeError> {
    events(HistogramDataPoint::decode(bytes)?)
}

fn exponential(bytes: Bytes) -> Result<EncodedPoint, OtlpDecodeError> {
    let mut read = HistogramDataPoint::decode(bytes)?;
    read.attributes = std::mem::take(&mut read.exponential_attributes);
    read.max = read.exponential_max;
    events(read)
}

fn events(read: HistogramDataPoint) -> Result<EncodedPoint, OtlpDecodeError> {
    Ok(EncodedPoint {
        labels: labels(read.attributes)?,
        start_ns: read.start_time_unix_nano,
        time_ns: read.time_unix_nano,
        flags: read.flags,
        // A count of zero is left out of the bytes.
        count: Some(read.count.unwrap_or(0)),
        sum: read.sum,
        max: read.max,
        ..EncodedPoint::default()
    })
}

/// Attributes as labels; one with a value of another type is empty, so that it still tells its point from others.
fn labels(attributes: Vec<Bytes>) -> Result<Vec<(String, String)>, OtlpDecodeError> {
    let label = |bytes: Bytes| -> Result<(String, String), OtlpDecodeError> {
        let attribute = KeyValue::decode(bytes)?;
        let value = LabelValue::decode(attribute.value)?;
        let text = value.string_value.map(|text| shortened_bytes(&text));
        let text = text
            .or(value.bool_value.map(|value| value.to_string()))
            .or(value.int_value.map(|value| value.to_string()))
            .or(value.double_value.map(|value| value.to_string()));
        Ok((shortened_bytes(&attribute.key), text.unwrap_or_default()))
    };
    attributes.into_iter().map(label).collect()
}
