//! JSON lines: one object a record, with `docs/reference/export-line.schema.json` as its schema.

use std::path::Path;
use std::sync::Arc;

use plimsoll_model::trial::Percentiles;
use serde_json::{Map, Value as Json, json};

use super::Target;
use super::file::RecordFile;
use crate::record::{Moment, Point, Record, RunLabels, Second, Value};
use crate::send_error::SendError;

/// Version of the lines.
const FORMAT_VERSION: &str = "1.0";

/// The file.
pub(super) struct Jsonl {
    file: RecordFile,
    run: RunLabels,
}

impl Jsonl {
    pub(super) fn create(path: &Path, run: RunLabels) -> Result<Self, String> {
        let file = RecordFile::create(path)?;
        Ok(Self { file, run })
    }
}

impl Target for Jsonl {
    fn send(&mut self, records: &[Arc<Record>]) -> Result<(), SendError> {
        let mut text = String::new();
        for record in records {
            text.push_str(&line(record, &self.run).to_string());
            text.push('\n');
        }
        self.file.append(&text)
    }
}

fn line(record: &Record, run: &RunLabels) -> Json {
    let mut line = match record {
        Record::Second(second) => of_second(second),
        Record::Moment(moment) => of_moment(moment),
    };
    line["format_version"] = FORMAT_VERSION.into();
    line["run"] = run.run.as_str().into();
    line["command"] = run.command.into();
    line
}

fn of_second(second: &Second) -> Json {
    let metrics: Vec<Json> = second.points.iter().map(of_point).collect();
    json!({
        "kind": "second",
        "at_ms": second.at_ms,
        "second": second.run_time,
        "metrics": metrics,
    })
}

fn of_moment(moment: &Moment) -> Json {
    json!({
        "kind": moment.kind.name(),
        "at_ms": moment.from_ms,
        "to_ms": moment.to_ms,
        "text": moment.text,
    })
}

fn of_point(point: &Point) -> Json {
    let labels: Map<String, Json> = point
        .labels
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str().into()))
        .collect();
    let mut object = json!({ "name": point.definition.prometheus });
    if !labels.is_empty() {
        object["labels"] = labels.into();
    }
    match &point.value {
        Value::Counter { total, increase } => {
            object["total"] = (*total).into();
            object["increase"] = (*increase).into();
        }
        Value::Gauge(level) => object["value"] = (*level).into(),
        Value::Times { total, second } => {
            object["total"] = total.count.into();
            object["count"] = second.count().into();
            if !second.is_empty() {
                let at = Percentiles::of(second);
                let seconds = |us: u64| us as f64 / 1e6;
                object["mean"] = (at.mean / 1e6).into();
                object["p50"] = seconds(at.p50).into();
                object["p90"] = seconds(at.p90).into();
                object["p95"] = seconds(at.p95).into();
                object["p99"] = seconds(at.p99).into();
                object["max"] = seconds(at.max).into();
            }
        }
    }
    object
}
