//! A log of `HdrHistogram`, version 1.3: one histogram a second, in microseconds, with the metric as tag. What is no time is
//! left out.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use super::Target;
use super::file::RecordFile;
use crate::definition::RESPONSE;
use crate::record::{Point, Record, RunLabels, Second, Value, seconds};
use crate::send_error::SendError;

/// The file.
pub(super) struct Hlog {
    file: RecordFile,
    run: RunLabels,
    /// Start of the first interval, ms since 1970, once the header is written.
    start_ms: Option<u64>,
}

impl Hlog {
    pub(super) fn create(path: &Path, run: RunLabels) -> Result<Self, String> {
        let file = RecordFile::create(path)?;
        Ok(Self {
            file,
            run,
            start_ms: None,
        })
    }
}

impl Target for Hlog {
    fn send(&mut self, records: &[Arc<Record>]) -> Result<(), SendError> {
        let mut text = String::new();
        let mut start_ms = self.start_ms;
        for second in seconds(records) {
            let start = *start_ms.get_or_insert_with(|| {
                let start = second.at_ms.saturating_sub(1_000);
                header(&mut text, &self.run, start);
                start
            });
            lines(&mut text, second, start);
        }
        self.file.append(&text)?;
        self.start_ms = start_ms;
        Ok(())
    }
}

fn header(text: &mut String, run: &RunLabels, start_ms: u64) {
    let start = i64::try_from(start_ms).unwrap_or(i64::MAX);
    let written = jiff::Timestamp::from_millisecond(start).unwrap_or_default();
    let RunLabels { run, command } = run;
    let seconds = start_ms as f64 / 1e3;
    let _ = write!(
        text,
        "#[plimsoll {command}, run {run}; values are microseconds, maxima milliseconds]\n\
         #[Histogram log format version 1.3]\n\
         #[StartTime: {seconds:.3} (seconds since epoch), {written}]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
    );
}

fn lines(text: &mut String, second: &Second, start_ms: u64) {
    let begin_ms = second.at_ms.saturating_sub(1_000).saturating_sub(start_ms);
    let offset = begin_ms as f64 / 1e3;
    for point in &second.points {
        let Value::Times { second, .. } = &point.value else {
            continue;
        };
        if second.is_empty() || !point.definition.is_time() {
            continue;
        }
        if let Some(tag) = tag(point) {
            let _ = write!(text, "Tag={tag},");
        }
        let max_ms = second.max().unwrap_or(0) as f64 / 1e3;
        let histogram = second.to_v2_base64();
        let _ = writeln!(text, "{offset:.3},1.000,{max_ms:.3},{histogram}");
    }
}

/// The tag of a histogram: nothing for response times, else the metric and its labels. A tag has no space, comma or line end.
fn tag(point: &Point) -> Option<String> {
    if point.definition.prometheus == RESPONSE.prometheus {
        return None;
    }
    let name = point.definition.prometheus.trim_start_matches("plimsoll_");
    let mut tag = name.trim_end_matches("_seconds").to_owned();
    for (_, value) in &point.labels {
        tag.push(':');
        let forbidden = |c: char| c == ',' || c.is_whitespace() || c.is_control();
        tag.extend(value.chars().map(|c| if forbidden(c) { '_' } else { c }));
    }
    Some(tag)
}
