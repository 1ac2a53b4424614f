//! HAR 1.2: the recording format of browsers.
//!
//! The file is read as a stream, entry by entry. An invalid entry is left out and reported; a file without any valid entry
//! is an error.

mod entry;
mod mend;
mod multipart;
mod scanner;

use std::io::BufRead;

use percent_encoding::{CONTROLS, percent_encode};
use serde_json::Value;

use crate::recording::{
    FormField, Payload, RecordedExchange, Recording, RecordingLoss, ResourceKind, media_type_of,
};
use scanner::{Outline, Place, RawEntry};

/// Most invalid entries reported; further ones are only counted.
const UNUSABLE_NAMED_MAX: usize = 10;
/// Responses searched for values, all together, bytes.
const CONTENT_LEN_MAX: usize = 128 << 20;
/// Requests and heads, all together, bytes.
const REQUESTS_LEN_MAX: usize = 256 << 20;

/// Why a HAR file gives no plan.
#[derive(Debug, thiserror::Error)]
pub enum HarError {
    /// It cannot be read.
    #[error("the recording cannot be read: {0}")]
    Read(#[source] std::io::Error),
    /// Not JSON, cut off for instance.
    #[error(
        "line {line}, column {column}: not JSON ({fault}); a HAR file is one JSON object, save it again from the network panel"
    )]
    NotJson {
        /// Line, from 1.
        line: usize,
        /// Column in bytes, from 1.
        column: usize,
        /// What is wrong there.
        fault: &'static str,
    },
    /// Deeper than any recording.
    #[error(
        "line {line}, column {column}: nested deeper than 128 levels, which is the recursion limit; it is not a HAR file"
    )]
    TooDeep {
        /// Line, from 1.
        line: usize,
        /// Column in bytes, from 1.
        column: usize,
    },
    /// More values than a recording has.
    #[error(
        "it has more than {} JSON values; save a shorter recording, or save it without content",
        scanner::VALUES_MAX
    )]
    TooMany,
    /// Requests that are longer than a plan can be.
    #[error(
        "its requests are longer than {} MiB, without the content of responses; save a shorter recording",
        REQUESTS_LEN_MAX >> 20
    )]
    TooLong,
    /// Other JSON.
    #[error(
        "the list `log.entries` is missing: not a HAR file (HAR 1.2 has an object `log` with a list `entries`)"
    )]
    NoEntries,
    /// Nothing was recorded.
    #[error(
        "`log.entries` is empty: nothing was recorded; open the network panel before the page, and reload it"
    )]
    Empty,
    /// Every entry is unusable.
    #[error("none of the {count} entries can be used; the first: {first}")]
    NothingUsable {
        /// Number of entries.
        count: usize,
        /// What is wrong with the first.
        first: String,
    },
}

/// Reads the text of a HAR file.
///
/// # Errors
/// When it is not a HAR file, or has no valid entry.
pub fn read(text: &str) -> Result<Recording, HarError> {
    read_from(text.as_bytes())
}

/// Reads a HAR file as a stream: in memory are its requests, and the responses that may have values of them.
///
/// # Errors
/// When it is not a HAR file, has no valid entry, or cannot be read.
pub fn read_from(reader: impl BufRead) -> Result<Recording, HarError> {
    let mut entries = Entries::default();
    let outline = scanner::scan(reader, |raw| entries.take(&raw))?;
    entries.finish(&outline)
}

/// The entries read so far.
#[derive(Default)]
struct Entries {
    recording: Recording,
    count: usize,
    unusable: usize,
    /// Bytes of responses and of the rest that are kept.
    content_len: usize,
    requests_len: usize,
    /// Responses whose content is not kept for its length.
    unsearched: usize,
}

impl Entries {
    fn take(&mut self, raw: &RawEntry<'_>) -> Result<(), HarError> {
        let index = self.count;
        self.count += 1;
        let read = match raw.bytes {
            Some(bytes) => read_entry(bytes),
            None => {
                Err("it is longer than an entry may be (64 MiB, 500000 JSON values)".to_owned())
            }
        };
        match read {
            Ok(exchange) => self.keep(exchange, index, raw),
            Err(error) => {
                self.unusable += 1;
                if self.unusable <= UNUSABLE_NAMED_MAX {
                    self.lose(raw.place, index, &format!("left out: {error}"));
                }
                Ok(())
            }
        }
    }

    fn keep(
        &mut self,
        mut exchange: RecordedExchange,
        index: usize,
        raw: &RawEntry<'_>,
    ) -> Result<(), HarError> {
        exchange.place = (raw.place.line, raw.place.column);
        // Only answers to navigations and calls are searched.
        let is_searched = matches!(exchange.kind, ResourceKind::Document | ResourceKind::Call);
        exchange.content = exchange.content.take().filter(|_| is_searched);
        let content_len = exchange.content.as_ref().map_or(0, String::len);
        if self.content_len + content_len > CONTENT_LEN_MAX {
            exchange.content = None;
            self.unsearched += 1;
        } else {
            self.content_len += content_len;
        }
        self.requests_len += exchange.request_len();
        if self.requests_len > REQUESTS_LEN_MAX {
            return Err(HarError::TooLong);
        }
        if raw.is_cut && exchange.payload.as_ref().is_some_and(Payload::is_long) {
            self.lose(raw.place, index, "the body of the request is cut at 12 MiB");
        }
        self.recording.exchanges.push(exchange);
        Ok(())
    }

    fn lose(&mut self, place: Place, index: usize, what: &str) {
        let sentence = format!("log.entries[{index}] {what}");
        self.recording.losses.push(RecordingLoss {
            place: (place.line, place.column),
            what: sentence.clone(),
        });
        self.recording.problems.push(sentence);
    }

    fn finish(self, outline: &Outline) -> Result<Recording, HarError> {
        let mut recording = self.recording;
        if !outline.has_entries {
            return Err(HarError::NoEntries);
        }
        if self.count == 0 {
            return Err(HarError::Empty);
        }
        if recording.exchanges.is_empty() {
            return Err(HarError::NothingUsable {
                count: self.count,
                first: recording.problems.swap_remove(0),
            });
        }
        if self.unusable > UNUSABLE_NAMED_MAX {
            let more = self.unusable - UNUSABLE_NAMED_MAX;
            let sentence = format!("{more} more entries left out");
            recording.problems.push(sentence);
        }
        if self.unsearched > 0 {
            recording.problems.push(format!(
                "{} beyond {} MiB in all are not searched for values that requests send back",
                crate::counted(self.unsearched, "response"),
                CONTENT_LEN_MAX >> 20
            ));
        }
        recording.recorder = recorder(outline);
        sort_by_start(&mut recording.exchanges);
        Ok(recording)
    }
}

/// Chromium orders some entries by the arrival of responses; the order of requests matters.
fn sort_by_start(exchanges: &mut [RecordedExchange]) {
    if exchanges
        .iter()
        .all(|exchange| exchange.started_ms.is_some())
    {
        exchanges.sort_by(|a, b| {
            a.started_ms
                .partial_cmp(&b.started_ms)
                .unwrap_or(std::cmp::Ordering::Equal)
        });
    }
}

/// Reads an entry; one that is not valid as it stands is read with its faulty characters replaced.
fn read_entry(bytes: &[u8]) -> Result<RecordedExchange, String> {
    match serde_json::from_slice::<Value>(bytes) {
        Ok(value) => entry::read(&value),
        Err(error) => match serde_json::from_str::<Value>(&mend::mended(bytes)) {
            Ok(value) => entry::read(&value),
            Err(_) => Err(format!("it is not valid JSON ({error})")),
        },
    }
}

/// A body as it was sent. Of a form, bytes that are no ASCII are percent-encoded: servers decode both alike, and so it is text
/// in any encoding.
pub fn payload(media_type: &str, body: Vec<u8>) -> Payload {
    let fields = form_fields(media_type, &body);
    let is_form = media_type_of(media_type) == "application/x-www-form-urlencoded";
    let (text, bytes) = match String::from_utf8(body) {
        Ok(text) => (Some(text), None),
        Err(error) if is_form => {
            let encoded = percent_encode(error.as_bytes(), CONTROLS).to_string();
            (Some(encoded), None)
        }
        Err(error) => (None, Some(error.into_bytes())),
    };
    Payload {
        media_type: media_type.to_owned(),
        text,
        bytes,
        fields,
    }
}

/// Decoded fields of the body of a form; none for a body of another media type.
fn form_fields(media_type: &str, body: &[u8]) -> Vec<FormField> {
    match media_type_of(media_type).as_str() {
        "application/x-www-form-urlencoded" => entry::decode_form(body),
        "multipart/form-data" => multipart::fields(media_type, body),
        _ => Vec::new(),
    }
}

fn recorder(outline: &Outline) -> String {
    let named = |maker: &Value| {
        let name = maker["name"].as_str()?;
        let version = maker["version"].as_str().unwrap_or_default();
        Some(format!("{name} {version}").trim().to_owned())
    };
    named(&outline.browser)
        .or_else(|| named(&outline.creator))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
