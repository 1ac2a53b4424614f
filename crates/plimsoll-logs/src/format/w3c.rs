//! W3C extended logs: a line `#Fields:` names the columns of the lines behind it. IIS, Amazon `CloudFront` and others.

use std::borrow::Cow;

use memchr::memchr;

use crate::draft::{self, Draft};
use crate::entry::{LineError, LogEntry};
use crate::moment::{self, MomentReader};
use crate::value::{self, Unit, Value};

/// Columns of standard logs of `CloudFront`, for a fragment without its header.
const STANDARD: &str = "date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status \
    cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header \
    cs-protocol cs-bytes time-taken x-forwarded-for";
/// Length of `2026-11-22`.
const DAY_LEN: usize = 10;
/// Most columns of a log.
const COLUMNS_MAX: usize = 200;

/// What wrote the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Writer {
    /// `CloudFront`: values are percent-encoded once more; `time-taken` is in seconds.
    Cloudfront,
    /// IIS: paths are decoded, blanks are `+`; `time-taken` is in milliseconds.
    Iis,
    /// Anything else.
    #[default]
    Other,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Date,
    Time,
    Timestamp,
    Address,
    Forwarded,
    Method,
    Stem,
    Query,
    Uri,
    Status,
    Bytes,
    Referer,
    Agent,
    /// The host that a client asked for.
    Host,
    /// The host that `CloudFront` gave the distribution.
    OwnHost,
    TimeTaken,
    ResultType,
    Unused,
}

/// The columns in use.
#[derive(Clone, Debug, Default)]
pub(crate) struct W3cColumns {
    columns: Vec<Column>,
    writer: Writer,
    /// Whether a `time-taken` had a fraction: then all are seconds.
    has_fractions: bool,
    /// The day of the last `#Date`, for lines that have only a time.
    day: Option<[u8; DAY_LEN]>,
}

impl W3cColumns {
    /// Of a name of `--format`.
    pub(crate) fn of(name: &str) -> Self {
        Self {
            columns: Vec::new(),
            has_fractions: false,
            day: None,
            writer: match name {
                "cloudfront" => Writer::Cloudfront,
                "iis" => Writer::Iis,
                _ => Writer::Other,
            },
        }
    }

    /// The same with the unit of `time-taken` that these lines have.
    pub(crate) fn with_unit_of(mut self, sample: &[&[u8]]) -> Self {
        let mut probe = self.clone();
        let mut moments = MomentReader::default();
        for line in sample {
            let _ = probe.read(&mut moments, line);
        }
        self.has_fractions = probe.has_fractions;
        self
    }

    /// Parses a line; `None` for a header or a comment.
    pub(crate) fn read<'a>(
        &mut self,
        moments: &mut MomentReader,
        line: &'a [u8],
    ) -> Result<Option<LogEntry<'a>>, LineError> {
        if let Some(head) = line.strip_prefix(b"#") {
            self.directive(head);
            return Ok(None);
        }
        if self.columns.is_empty() {
            self.set_columns(STANDARD);
        }
        let mut draft = Draft::default();
        let mut day: Option<&[u8]> = None;
        let mut time: Option<&[u8]> = None;
        let values = Values::of(line);
        for (column, (text, is_quoted)) in self.columns.iter().zip(values) {
            match column {
                Column::TimeTaken if text.contains(&b'.') => {
                    self.has_fractions = true;
                    self.set(*column, text, &mut draft)?;
                }
                Column::Date => day = Some(text),
                Column::Time => time = Some(text),
                Column::Unused => {}
                _ if value::is_absent(text) => {}
                column if is_quoted && memchr::memmem::find(text, b"\"\"").is_some() => {
                    set_with_quotes(*column, text, &mut draft);
                }
                column => self.set(*column, text, &mut draft)?,
            }
        }
        let has_day = self.columns.contains(&Column::Date);
        let day_of_head = self.day.as_ref().filter(|_| !has_day);
        let day = day.or(day_of_head.map(<[u8; DAY_LEN]>::as_slice));
        if let (Some(day), Some(time)) = (day, time) {
            // The moment when the answer was complete: "the time when the CloudFront server finished responding"
            // (AWS, standard logging reference); IIS writes the line after the last send completed (KB 944884).
            draft.ended_ms = moment_of(moments, day, time);
            if draft.ended_ms.is_none() {
                return Err(LineError::invalid("the timestamp", day));
            }
        }
        if draft.method.is_none() {
            return Err(LineError::Missing("method (cs-method)"));
        }
        if draft.path.is_none() {
            return Err(LineError::Missing("path (cs-uri-stem)"));
        }
        draft.finish().map(Some)
    }

    fn directive(&mut self, head: &[u8]) {
        let head = String::from_utf8_lossy(head);
        let head = head.trim_start();
        if let Some(names) = head.strip_prefix("Fields:") {
            self.set_columns(names);
        } else if let Some(moment) = head.strip_prefix("Date:") {
            let day = moment.trim_start().as_bytes().first_chunk();
            self.day = day.copied().or(self.day);
        } else if let Some(name) = head.strip_prefix("Software:")
            && (name.contains("Microsoft") || name.contains("IIS"))
        {
            self.writer = Writer::Iis;
        }
    }

    fn set_columns(&mut self, names: &str) {
        let names: Vec<String> = names
            .split_whitespace()
            .map(str::to_ascii_lowercase)
            .take(COLUMNS_MAX)
            .collect();
        let has = |start: &str| names.iter().any(|name| name.starts_with(start));
        if has("x-edge-") {
            self.writer = Writer::Cloudfront;
        } else if has("sc-win32-status") || has("sc-substatus") || has("s-sitename") {
            self.writer = Writer::Iis;
        }
        self.columns = names.iter().map(|name| column(name)).collect();
    }

    fn set<'a>(
        &self,
        column: Column,
        text: &'a [u8],
        draft: &mut Draft<'a>,
    ) -> Result<(), LineError> {
        match column {
            Column::Timestamp => {
                draft.ended_ms = value::number(text).and_then(moment::unix);
            }
            Column::Address => draft.address = Some(Cow::Borrowed(text)),
            Column::Forwarded => draft.forwarded = Some(self.decoded(text)),
            Column::Method => draft.method = Some(Cow::Borrowed(text)),
            Column::Stem => draft.path = Some(self.stem(text)?),
            Column::Uri if draft.path.is_none() => draft.path = Some(self.stem(text)?),
            Column::Query => draft.query = Some(self.query(text)?),
            Column::Status => draft.status = Some(Cow::Borrowed(text)),
            Column::Bytes => draft.bytes = value::whole(text),
            Column::Referer => draft.referer = Some(self.decoded(text)),
            Column::Agent => draft.agent = Some(self.words(text)),
            Column::Host => draft.host = Some(Cow::Borrowed(text)),
            Column::OwnHost if draft.host.is_none() => draft.host = Some(Cow::Borrowed(text)),
            Column::TimeTaken => draft.lasted_ms = self.time_unit().read(text),
            Column::ResultType => draft.cache = draft::cache_outcome(text),
            _ => {}
        }
        Ok(())
    }

    /// The specification has seconds; IIS writes whole milliseconds, and so do those who imitate it.
    fn time_unit(&self) -> Unit {
        match self.writer {
            Writer::Cloudfront => Unit::Seconds,
            Writer::Other if self.has_fractions => Unit::Seconds,
            Writer::Iis | Writer::Other => Unit::Milliseconds,
        }
    }

    fn decoded<'a>(&self, text: &'a [u8]) -> Value<'a> {
        match self.writer {
            Writer::Cloudfront => value::percent_decoded(text),
            _ => Cow::Borrowed(text),
        }
    }

    /// A text whose blanks are written as `+`, or percent-encoded.
    fn words<'a>(&self, text: &'a [u8]) -> Value<'a> {
        match self.writer {
            Writer::Cloudfront => value::percent_decoded(text),
            _ if text.contains(&b'+') && !text.contains(&b' ') => {
                let blank = |byte: &u8| if *byte == b'+' { b' ' } else { *byte };
                Cow::Owned(text.iter().map(blank).collect())
            }
            _ => Cow::Borrowed(text),
        }
    }

    fn query<'a>(&self, text: &'a [u8]) -> Result<Value<'a>, LineError> {
        if self.writer != Writer::Cloudfront && std::str::from_utf8(text).is_err() {
            return Err(LineError::NotText("the query"));
        }
        Ok(self.decoded(text))
    }

    /// The path as it was sent. IIS writes it decoded, with `+` for blanks (it refuses a `+` in a path unless
    /// `allowDoubleEscaping` is set), in UTF-8 or in the code page of the machine, which nothing names.
    fn stem<'a>(&self, text: &'a [u8]) -> Result<Value<'a>, LineError> {
        if self.writer == Writer::Cloudfront {
            return Ok(value::percent_decoded(text));
        }
        if std::str::from_utf8(text).is_err() {
            return Err(LineError::NotText("the path"));
        }
        if self.writer == Writer::Other || !text.contains(&b'+') && !text.contains(&b'%') {
            return Ok(Cow::Borrowed(text));
        }
        let mut out = Vec::with_capacity(text.len() + 8);
        for (at, &byte) in text.iter().enumerate() {
            let is_code = || {
                let digits = text.get(at + 1..at + 3);
                digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            };
            match byte {
                b'+' => out.push(b' '),
                b'%' if !is_code() => out.extend_from_slice(b"%25"),
                _ => out.push(byte),
            }
        }
        Ok(Cow::Owned(out))
    }
}

fn column(name: &str) -> Column {
    match name {
        "date" => Column::Date,
        "time" => Column::Time,
        "timestamp" | "timestamp(ms)" => Column::Timestamp,
        "c-ip" | "c-dns" => Column::Address,
        "x-forwarded-for" | "cs(x-forwarded-for)" | "x-original-ip" | "cs(x-real-ip)" => {
            Column::Forwarded
        }
        "cs-method" => Column::Method,
        "cs-uri-stem" => Column::Stem,
        "cs-uri-query" => Column::Query,
        "cs-uri" => Column::Uri,
        "sc-status" => Column::Status,
        "sc-bytes" | "bytes" => Column::Bytes,
        "cs(referer)" | "cs-referer" => Column::Referer,
        "cs(user-agent)" | "cs-user-agent" => Column::Agent,
        "x-host-header" | "cs-host" => Column::Host,
        "cs(host)" => Column::OwnHost,
        "time-taken" => Column::TimeTaken,
        "x-edge-result-type" => Column::ResultType,
        _ => Column::Unused,
    }
}

fn moment_of(moments: &mut MomentReader, day: &[u8], time: &[u8]) -> Option<i64> {
    let mut text = [0; 32];
    let length = day.len() + 1 + time.len();
    let place = text.get_mut(..length)?;
    place[..day.len()].copy_from_slice(day);
    place[day.len()] = b'T';
    place[day.len() + 1..].copy_from_slice(time);
    moments.iso(place)
}

/// Values of a line: separated by tabs, or by blanks, and then in quotes where they contain some.
#[derive(Debug)]
struct Values<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
}

impl<'a> Values<'a> {
    fn of(line: &'a [u8]) -> Self {
        let has_tabs = memchr(b'\t', line).is_some();
        Self {
            rest: Some(line),
            separator: if has_tabs { b'\t' } else { b' ' },
        }
    }
}

impl<'a> Iterator for Values<'a> {
    /// A value, and whether it was in quotes.
    type Item = (&'a [u8], bool);

    fn next(&mut self) -> Option<(&'a [u8], bool)> {
        let mut rest = self.rest?;
        if self.separator == b' ' {
            rest = rest.trim_ascii_start();
            if rest.is_empty() {
                self.rest = None;
                return None;
            }
            if let Some(inner) = rest.strip_prefix(b"\"")
                && let Some(end) = end_of_quoted(inner)
            {
                self.rest = Some(&inner[end + 1..]);
                return Some((&inner[..end], true));
            }
        }
        let Some(end) = memchr(self.separator, rest) else {
            self.rest = None;
            return Some((rest, false));
        };
        self.rest = Some(&rest[end + 1..]);
        Some((&rest[..end], false))
    }
}

/// Where a value in quotes ends: a quote in it is written twice (W3C extended log format, `<string>`).
fn end_of_quoted(inner: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + memchr(b'"', inner.get(from..)?)?;
        if inner.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        from = at + 2;
    }
}

/// A value in quotes that has quotes in it.
fn set_with_quotes(column: Column, text: &[u8], draft: &mut Draft<'_>) {
    let mut value = Vec::with_capacity(text.len());
    let mut is_second = false;
    for &byte in text {
        is_second = byte == b'"' && !is_second;
        if byte != b'"' || is_second {
            value.push(byte);
        }
    }
    let value = Some(Cow::Owned(value));
    match column {
        Column::Stem => draft.path = value,
        Column::Uri if draft.path.is_none() => draft.path = value,
        Column::Query => draft.query = value,
        Column::Referer => draft.referer = value,
        Column::Agent => draft.agent = value,
        _ => {}
    }
}

impl W3cColumns {
    /// What wrote the log, for people.
    pub(crate) fn describe(&self) -> &'static str {
        match self.writer {
            Writer::Cloudfront => "columns x-edge-…: CloudFront, time-taken in seconds",
            Writer::Iis => "columns of IIS, time-taken in milliseconds",
            Writer::Other => "columns of the W3C extended log format",
        }
    }
}
