//! Prometheus remote write 2.0; 1.0 to receivers that do not know it.

use std::collections::BTreeMap;
use std::sync::Arc;

use prost::Message as _;

use super::Target;
use crate::definition::{Definition, MetricKind};
use crate::http::Receiver;
use crate::prometheus::messages::{
    Histogram, Label, LabelledSeries, Metadata, Request, Sample, TimeSeries, WriteRequest,
};
use crate::prometheus::{labels, native, timestamp};
use crate::record::{Point, Record, RunLabels, Value, seconds};
use crate::send_error::SendError;

/// A receiver of version 2.0 counts what it wrote in these headers.
const WRITTEN: [&str; 2] = [
    "x-prometheus-remote-write-samples-written",
    "x-prometheus-remote-write-histograms-written",
];
/// The value that says that a series has ended.
const STALE: u64 = 0x7ff0_0000_0000_0002;

/// Labels with `__name__`, by name: the identity of a series.
type Key = Vec<(String, String)>;

/// Values of a series, older ones first.
#[derive(Debug)]
struct Series {
    definition: Definition,
    samples: Vec<Sample>,
    histograms: Vec<Histogram>,
}

type Batch = BTreeMap<Key, Series>;

/// The receiver.
pub(super) struct RemoteWrite {
    receiver: Receiver,
    run: RunLabels,
    /// It does not know version 2.0.
    is_old: bool,
    /// Series that were written, and the time of the last value, ms since 1970.
    written: BTreeMap<Key, Definition>,
    last_ms: u64,
}

impl RemoteWrite {
    pub(super) fn new(receiver: Receiver, run: RunLabels) -> Self {
        Self {
            receiver,
            run,
            is_old: false,
            written: BTreeMap::new(),
            last_ms: 0,
        }
    }

    fn write(&mut self, batch: &Batch) -> Result<(), SendError> {
        if !self.is_old {
            let answer = self.post(&second_version(batch).encode_to_vec(), true)?;
            let counts = WRITTEN
                .iter()
                .any(|name| answer.headers.contains_key(*name));
            // One that does not know 2.0 refuses it, or finds nothing in it that it knows.
            let is_unknown =
                answer.status == 415 || ((200..300).contains(&answer.status) && !counts);
            if !is_unknown {
                return answer.accepted();
            }
            self.is_old = true;
        }
        let answer = self.post(&first_version(batch).encode_to_vec(), false)?;
        answer.accepted()
    }

    fn post(&self, message: &[u8], is_second: bool) -> Result<crate::http::Answer, SendError> {
        let packed = snap::raw::Encoder::new().compress_vec(message);
        let packed = packed.map_err(|error| SendError {
            message: error.to_string(),
            may_repeat: false,
        })?;
        let (content_type, version) = if is_second {
            let kind = "application/x-protobuf;proto=io.prometheus.write.v2.Request";
            (kind, "2.0.0")
        } else {
            ("application/x-protobuf", "0.1.0")
        };
        self.receiver.post(
            &[
                ("Content-Type", content_type),
                ("Content-Encoding", "snappy"),
                ("X-Prometheus-Remote-Write-Version", version),
            ],
            &packed,
        )
    }
}

impl Target for RemoteWrite {
    fn send(&mut self, records: &[Arc<Record>]) -> Result<(), SendError> {
        let mut batch = Batch::new();
        let mut last_ms = self.last_ms;
        for second in seconds(records) {
            last_ms = last_ms.max(second.at_ms);
            for point in &second.points {
                add(&mut batch, point, &self.run, timestamp(second.at_ms));
            }
        }
        if batch.is_empty() {
            return Ok(());
        }
        self.write(&batch)?;
        self.last_ms = last_ms;
        for (key, series) in batch {
            self.written.entry(key).or_insert(series.definition);
        }
        Ok(())
    }

    /// Marks all series as ended, as the specification demands.
    fn close(&mut self) -> Result<(), SendError> {
        // A second later, so that queries in steps of a second find the last values.
        let at = timestamp(self.last_ms + 1_000);
        let stale = f64::from_bits(STALE);
        let written = std::mem::take(&mut self.written).into_iter();
        let batch: Batch = written
            .map(|(key, definition)| {
                let is_histogram = definition.kind == MetricKind::Histogram;
                let histogram = Histogram {
                    sum: stale,
                    timestamp: at,
                    ..Histogram::default()
                };
                let sample = Sample {
                    value: stale,
                    timestamp: at,
                };
                let series = Series {
                    definition,
                    samples: if is_histogram {
                        Vec::new()
                    } else {
                        vec![sample]
                    },
                    histograms: if is_histogram {
                        vec![histogram]
                    } else {
                        Vec::new()
                    },
                };
                (key, series)
            })
            .collect();
        if batch.is_empty() {
            return Ok(());
        }
        self.write(&batch)
    }
}

fn add(batch: &mut Batch, point: &Point, run: &RunLabels, at_ms: i64) {
    let mut all = labels(point, run);
    all.insert(
        "__name__".to_owned(),
        point.definition.prometheus.to_string(),
    );
    let series = batch
        .entry(all.into_iter().collect())
        .or_insert_with(|| Series {
            definition: point.definition.clone(),
            samples: Vec::new(),
            histograms: Vec::new(),
        });
    match &point.value {
        Value::Counter { total: value, .. } | Value::Gauge(value) => series.samples.push(Sample {
            value: *value,
            timestamp: at_ms,
        }),
        Value::Times { total, .. } => series.histograms.push(native(total, at_ms)),
    }
}

/// Texts of a message of version 2.0, each once; the first is empty.
struct Symbols<'a> {
    refs: BTreeMap<&'a str, u32>,
    texts: Vec<String>,
}

impl<'a> Symbols<'a> {
    fn of(&mut self, text: &'a str) -> u32 {
        if let Some(index) = self.refs.get(text) {
            return *index;
        }
        let index = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.texts.push(text.to_owned());
        self.refs.insert(text, index);
        index
    }
}

fn second_version(batch: &Batch) -> Request {
    let mut symbols = Symbols {
        refs: BTreeMap::from([("", 0)]),
        texts: vec![String::new()],
    };
    let mut timeseries = Vec::with_capacity(batch.len());
    for (key, series) in batch {
        let mut labels_refs = Vec::with_capacity(key.len() * 2);
        for (name, value) in key {
            labels_refs.extend([symbols.of(name), symbols.of(value)]);
        }
        let definition = &series.definition;
        let metadata = Metadata {
            r#type: match definition.kind {
                MetricKind::Counter => 1,
                MetricKind::Gauge => 2,
                MetricKind::Histogram => 3,
            },
            help_ref: symbols.of(&definition.help),
            unit_ref: symbols.of(unit(definition)),
        };
        timeseries.push(TimeSeries {
            labels_refs,
            samples: series.samples.clone(),
            histograms: series.histograms.clone(),
            metadata: Some(metadata),
        });
    }
    Request {
        symbols: symbols.texts,
        timeseries,
    }
}

/// The unit as it stands in the name; empty without one.
fn unit(definition: &Definition) -> &'static str {
    let name = definition.prometheus.trim_end_matches("_total");
    let units = ["seconds", "bytes", "ratio"];
    let unit = units.into_iter().find(|unit| name.ends_with(unit));
    unit.unwrap_or_default()
}

fn first_version(batch: &Batch) -> WriteRequest {
    let timeseries = batch.iter().map(|(key, series)| LabelledSeries {
        labels: key
            .iter()
            .map(|(name, value)| Label {
                name: name.clone(),
                value: value.clone(),
            })
            .collect(),
        samples: series.samples.clone(),
        histograms: series.histograms.clone(),
    });
    WriteRequest {
        timeseries: timeseries.collect(),
    }
}
