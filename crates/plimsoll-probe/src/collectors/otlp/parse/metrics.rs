//! Metrics as OpenTelemetry's SDKs and collectors send them: `ExportMetricsServiceRequest` of OTLP, as protobuf and as JSON.
//!
//! A point keeps its name, its labels, its times and its value. Buckets, exemplars and units are skipped unread.

mod json;
mod protobuf;
#[cfg(test)]
mod tests;

use super::OtlpDecodeError;

pub use json::from_json;
pub use protobuf::from_protobuf;

/// Limit of points in one message.
pub const POINTS_MAX: usize = 20_000;
/// Limit of the labels of a point.
pub const LABELS_MAX: usize = 24;
/// Longest text of all labels of a point together, bytes.
pub const LABELS_LEN_MAX: usize = 400;
/// Longest name, bytes.
pub const NAME_LEN_MAX: usize = 200;
/// Attributes of a resource that tell its meters from those of others.
const RESOURCE_LABELS: [&str; 2] = ["service.name", "service.instance.id"];
/// `DataPointFlags`: the point has no value.
const NO_RECORDED_VALUE: u64 = 1;
/// `AggregationTemporality`.
const DELTA: u64 = 1;
const CUMULATIVE: u64 = 2;

/// What a point measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PointValue {
    /// A level.
    Level(f64),
    /// A total that only rises, since the meter began.
    Total(f64),
    /// How much a total rose between two times.
    Increase(f64),
    /// Events of a histogram since it began.
    Events {
        /// Their number.
        count: f64,
        /// Sum of their values; 0 where it is not reported.
        sum: f64,
    },
    /// Events of a histogram between two times.
    NewEvents {
        /// Their number.
        count: f64,
        /// Sum of their values; 0 where it is not reported.
        sum: f64,
        /// Their largest value, where it is reported.
        max: Option<f64>,
    },
}

/// A point of a meter.
#[derive(Clone, Debug, PartialEq)]
pub struct MeterPoint {
    /// Name of the meter.
    pub name: String,
    /// Service and instance, then the point's own attributes; sorted, each name once.
    pub labels: Vec<(String, String)>,
    /// Since when totals count, ns since 1970; 0 where unknown.
    pub start_ns: u64,
    /// When it was measured, ns since 1970.
    pub time_ns: u64,
    /// Its value; finite.
    pub value: PointValue,
}

/// Content of a message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeterMessage {
    /// Its points.
    pub points: Vec<MeterPoint>,
    /// Points that are not understood (summaries, changes of levels), or with too long names and labels.
    pub left_out: u64,
}

/// How the points of a metric are to be read.
#[derive(Clone, Copy, Debug)]
enum PointFamily {
    Gauge,
    Sum {
        is_monotonic: bool,
        temporality: u64,
    },
    Histogram {
        temporality: u64,
    },
    /// A summary, or one of a later version.
    Unknown,
}

/// A point as it is encoded; what it does not have is `None`.
#[derive(Debug, Default)]
struct EncodedPoint {
    labels: Vec<(String, String)>,
    start_ns: u64,
    time_ns: u64,
    flags: u64,
    number: Option<f64>,
    count: Option<u64>,
    sum: Option<f64>,
    max: Option<f64>,
}

impl EncodedPoint {
    fn value(&self, family: PointFamily) -> Option<PointValue> {
        let (count, sum) = (
            self.count.map(|count| count as f64),
            self.sum.unwrap_or(0.0),
        );
        match family {
            PointFamily::Gauge => self.number.map(PointValue::Level),
            PointFamily::Sum {
                is_monotonic,
                temporality,
            } => match (is_monotonic, temporality) {
                (true, CUMULATIVE) => self.number.map(PointValue::Total),
                (true, DELTA) => self.number.map(PointValue::Increase),
                (false, CUMULATIVE) => self.number.map(PointValue::Level),
                // A change of a level whose beginning is not known.
                _ => None,
            },
            PointFamily::Histogram { temporality } => match temporality {
                CUMULATIVE => count.map(|count| PointValue::Events { count, sum }),
                DELTA => count.map(|count| PointValue::NewEvents {
                    count,
                    sum,
                    max: self.max,
                }),
                _ => None,
            },
            PointFamily::Unknown => None,
        }
    }
}

impl PointValue {
    fn is_finite(self) -> bool {
        match self {
            Self::Level(number) | Self::Total(number) | Self::Increase(number) => {
                number.is_finite()
            }
            Self::Events { sum, .. } => sum.is_finite(),
            Self::NewEvents { sum, max, .. } => sum.is_finite() && max.is_none_or(f64::is_finite),
        }
    }
}

impl MeterMessage {
    /// Adds a point of a metric, if it is understood.
    fn add(
        &mut self,
        (name, family): (&str, PointFamily),
        resource: &[(String, String)],
        point: EncodedPoint,
    ) -> Result<(), OtlpDecodeError> {
        if self.points.len() >= POINTS_MAX {
            let why = format!("more than {POINTS_MAX} points in one message: send smaller ones");
            return Err(OtlpDecodeError(why));
        }
        if point.flags & NO_RECORDED_VALUE != 0 {
            return Ok(());
        }
        let value = point.value(family).filter(|value| value.is_finite());
        // The point's own attributes come first: of two with one name that is the one that stays.
        let mut labels = point.labels;
        labels.extend_from_slice(resource);
        labels.sort_by(|a, b| a.0.cmp(&b.0));
        labels.dedup_by(|later, earlier| later.0 == earlier.0);
        let len: usize = labels
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum();
        let is_right = (1..=NAME_LEN_MAX).contains(&name.len())
            && labels.len() <= LABELS_MAX
            && len <= LABELS_LEN_MAX;
        match value.filter(|_| is_right) {
            Some(value) => self.points.push(MeterPoint {
                name: name.to_owned(),
                labels,
                start_ns: point.start_ns,
                time_ns: point.time_ns,
                value,
            }),
            None => self.left_out += 1,
        }
        Ok(())
    }
}

/// Whether an attribute of a resource is kept.
fn is_resource_label(name: &str) -> bool {
    RESOURCE_LABELS.contains(&name)
}
