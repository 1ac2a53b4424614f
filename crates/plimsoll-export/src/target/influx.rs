//! `InfluxDB` line protocol, to its HTTP address or into a file.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::sync::Arc;

use plimsoll_model::trial::Percentiles;

use super::Target;
use super::file::RecordFile;
use crate::definition;
use crate::http::Receiver;
use crate::record::{Moment, Point, Record, RunLabels, Value};
use crate::send_error::SendError;

enum Sink {
    Server(Receiver),
    File(RecordFile),
}

/// The database or file.
pub(super) struct Influx {
    sink: Sink,
    run: RunLabels,
}

impl Influx {
    pub(super) fn to_server(receiver: Receiver, run: RunLabels) -> Self {
        let sink = Sink::Server(receiver);
        Self { sink, run }
    }

    pub(super) fn to_file(path: &Path, run: RunLabels) -> Result<Self, String> {
        let sink = Sink::File(RecordFile::create(path)?);
        Ok(Self { sink, run })
    }
}

impl Target for Influx {
    fn send(&mut self, records: &[Arc<Record>]) -> Result<(), SendError> {
        let text = lines(records, &self.run);
        match &mut self.sink {
            Sink::File(file) => file.append(&text),
            Sink::Server(receiver) => receiver
                .post(
                    &[("Content-Type", "text/plain; charset=utf-8")],
                    text.as_bytes(),
                )?
                .accepted(),
        }
    }
}

fn lines(records: &[Arc<Record>], run: &RunLabels) -> String {
    let mut text = String::new();
    for record in records {
        match &**record {
            Record::Second(second) => {
                for point in &second.points {
                    line(&mut text, point, run, second.at_ms);
                }
            }
            Record::Moment(moment) => event(&mut text, moment, run),
        }
    }
    text
}

fn line(text: &mut String, point: &Point, run: &RunLabels, at_ms: u64) {
    text.push_str(&point.definition.prometheus);
    tag(text, "run", &run.run);
    for (name, value) in &point.labels {
        tag(text, &definition::tag(name), value);
    }
    match &point.value {
        Value::Gauge(level) => {
            let _ = write!(text, " value={level}");
        }
        Value::Counter { total, increase } => {
            let _ = write!(text, " total={total},increase={increase}");
        }
        Value::Times { total, second } => {
            let at = Percentiles::of(second);
            let _ = write!(text, " total={}i,count={}i", total.count, second.count());
            let fields = [
                ("p50", at.p50),
                ("p90", at.p90),
                ("p95", at.p95),
                ("p99", at.p99),
                ("max", at.max),
            ];
            for (name, us) in fields.iter().filter(|_| !second.is_empty()) {
                let _ = write!(text, ",{name}={}", *us as f64 / 1e6);
            }
            if !second.is_empty() {
                let _ = write!(text, ",mean={}", at.mean / 1e6);
            }
        }
    }
    let _ = writeln!(text, " {at_ms}000000");
}

fn event(text: &mut String, moment: &Moment, run: &RunLabels) {
    text.push_str("plimsoll_event");
    tag(text, "run", &run.run);
    tag(text, "kind", moment.kind.name());
    let sentence = moment.text.replace('\\', "\\\\").replace('"', "\\\"");
    let sentence = sentence.replace(['\n', '\r'], " ");
    let (from, to) = (moment.from_ms, moment.to_ms);
    // Of two events with the same tags and time the later would replace the earlier.
    let mut hasher = DefaultHasher::new();
    sentence.hash(&mut hasher);
    let ns = hasher.finish() % 1_000_000;
    let _ = writeln!(text, " text=\"{sentence}\",to_ms={to}i {from}{ns:06}");
}

/// A tag; an empty value is left out, as the protocol demands.
fn tag(text: &mut String, name: &str, value: &str) {
    let value = value.trim_end_matches('\\');
    if value.is_empty() {
        return;
    }
    text.push(',');
    for (part, end) in [(name, "="), (value, "")] {
        for c in part.chars() {
            match c {
                ',' | '=' | ' ' => text.extend(['\\', c]),
                c if c.is_control() => text.push('_'),
                c => text.push(c),
            }
        }
        text.push_str(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_in_tags_are_escaped() {
        let mut text = String::new();
        tag(&mut text, "a b", "x,y=z \n\\");
        tag(&mut text, "empty", "");
        assert_eq!(text, ",a\\ b=x\\,y\\=z\\ _");
    }
}
