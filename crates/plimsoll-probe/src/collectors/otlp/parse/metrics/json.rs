//! The JSON encoding of metrics: numbers of 64 bits as text.

use serde_json::Value;

use super::super::json::{list, number, root};
use super::super::{OtlpDecodeError, shortened};
use super::{EncodedPoint, MeterMessage, PointFamily, is_resource_label};

/// Reads a message of metrics.
///
/// # Errors
/// When the text is not JSON, or not OTLP, with the reason.
pub fn from_json(bytes: &[u8]) -> Result<MeterMessage, OtlpDecodeError> {
    let root = root(bytes, "resourceMetrics")?;
    let mut message = MeterMessage::default();
    for of_resource in list(&root, "resourceMetrics")? {
        let mut resource = labels(of_resource.get("resource").unwrap_or(&Value::Null))?;
        resource.retain(|(name, _)| is_resource_label(name));
        for scope in list(of_resource, "scopeMetrics")? {
            for metric in list(scope, "metrics")? {
                add(metric, &resource, &mut message)?;
            }
        }
    }
    Ok(message)
}

fn add(
    metric: &Value,
    resource: &[(String, String)],
    message: &mut MeterMessage,
) -> Result<(), OtlpDecodeError> {
    let name = metric
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let name = shortened(name);
    for key in [
        "gauge",
        "sum",
        "histogram",
        "exponentialHistogram",
        "summary",
    ] {
        let Some(points) = metric.get(key) else {
            continue;
        };
        let temporality = temporality(points);
        let is_monotonic = points.get("isMonotonic").and_then(Value::as_bool);
        let family = match key {
            "gauge" => PointFamily::Gauge,
            "sum" => PointFamily::Sum {
                is_monotonic: is_monotonic.unwrap_or(false),
                temporality,
            },
            "summary" => PointFamily::Unknown,
            _ => PointFamily::Histogram { temporality },
        };
        for encoded in list(points, "dataPoints")? {
            message.add((&name, family), resource, point(encoded)?)?;
        }
    }
    Ok(())
}

/// `AggregationTemporality`, as a number; some senders write its name.
fn temporality(points: &Value) -> u64 {
    match points.get("aggregationTemporality") {
        Some(Value::String(name)) if name.ends_with("_DELTA") => super::DELTA,
        Some(Value::String(name)) if name.ends_with("_CUMULATIVE") => super::CUMULATIVE,
        Some(value) => number(value).unwrap_or(0),
        None => 0,
    }
}

fn point(of: &Value) -> Result<EncodedPoint, OtlpDecodeError> {
    let whole = |name: &str| of.get(name).and_then(number);
    let decimal = |name: &str| of.get(name).and_then(decimal);
    Ok(EncodedPoint {
        labels: labels(of)?,
        start_ns: whole("startTimeUnixNano").unwrap_or(0),
        time_ns: whole("timeUnixNano").unwrap_or(0),
        flags: whole("flags").unwrap_or(0),
        number: decimal("asDouble").or(decimal("asInt")),
        count: whole("count"),
        sum: decimal("sum"),
        max: decimal("max"),
    })
}

/// A number, or a number in a string.
fn decimal(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.parse().ok(),
        value => value.as_f64(),
    }
}

/// Attributes as labels; one with a value of another type is empty, so that it still tells its point from others.
fn labels(of: &Value) -> Result<Vec<(String, String)>, OtlpDecodeError> {
    let label = |item: &Value| {
        let name = shortened(item.get("key")?.as_str()?);
        let value = item.get("value");
        let of_type = |kind: &str| value.and_then(|value| value.get(kind));
        let text = of_type("stringValue")
            .and_then(Value::as_str)
            .map(shortened);
        let text = text
            .or_else(|| Some(of_type("boolValue")?.as_bool()?.to_string()))
            .or_else(|| written(of_type("intValue")?))
            .or_else(|| written(of_type("doubleValue")?));
        Some((name, text.unwrap_or_default()))
    };
    Ok(list(of, "attributes")?.iter().filter_map(label).collect())
}

/// A number as it is written.
fn written(number: &Value) -> Option<String> {
    match number {
        Value::String(text) => Some(shortened(text)),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
