//! HAR 1.2: the recording format of browsers.
//!
//! An invalid entry is left out and reported; a file without any valid entry is an error.

mod entry;
mod multipart;

use serde_json::Value;

use crate::recording::{FormField, Recording, media_type_of};

/// Most invalid entries reported; further ones are only counted.
const UNUSABLE_NAMED_MAX: usize = 10;

/// Most JSON values of a file: a request has about a hundred. Each takes up to forty times its length in memory, so a
/// file of nothing else would fill it.
const VALUES_MAX: usize = 8_000_000;

/// Why a HAR file gives no plan.
#[derive(Debug, thiserror::Error)]
pub enum HarError {
    /// Not JSON, cut off for instance.
    #[error("line {}, column {}: not JSON ({source}); a HAR file is one JSON object, save it again from the network panel", source.line(), source.column())]
    NotJson {
        /// The JSON parser's error.
        source: serde_json::Error,
    },
    /// More values than a recording has.
    #[error(
        "it has more than {VALUES_MAX} JSON values; save a shorter recording, or save it without content"
    )]
    TooMany,
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

/// Whether there are more values than allowed, counted by the characters that begin or separate them outside strings.
fn has_too_many(text: &str) -> bool {
    let (mut count, mut in_string, mut is_escaped) = (0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' if !in_string => count += 1,
            _ => {}
        }
    }
    count > VALUES_MAX
}

/// Reads a HAR file.
///
/// # Errors
/// When it is not a HAR file, or has no valid entry.
pub fn read(text: &str) -> Result<Recording, HarError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if has_too_many(text) {
        return Err(HarError::TooMany);
    }
    let har: Value = serde_json::from_str(text).map_err(|source| HarError::NotJson { source })?;
    let log = &har["log"];
    let entries = log["entries"].as_array().ok_or(HarError::NoEntries)?;
    if entries.is_empty() {
        return Err(HarError::Empty);
    }
    let mut recording = Recording {
        recorder: recorder(log),
        ..Recording::default()
    };
    let mut unusable = 0_usize;
    for (index, value) in entries.iter().enumerate() {
        match entry::read(value) {
            Ok(exchange) => recording.exchanges.push(exchange),
            Err(error) => {
                unusable += 1;
                if unusable <= UNUSABLE_NAMED_MAX {
                    recording
                        .problems
                        .push(format!("log.entries[{index}] left out: {error}"));
                }
            }
        }
    }
    if recording.exchanges.is_empty() {
        return Err(HarError::NothingUsable {
            count: entries.len(),
            first: recording.problems.swap_remove(0),
        });
    }
    if unusable > UNUSABLE_NAMED_MAX {
        let more = unusable - UNUSABLE_NAMED_MAX;
        recording
            .problems
            .push(format!("{more} more entries left out"));
    }
    // Chromium orders some entries by the arrival of responses; the order of requests matters.
    if recording
        .exchanges
        .iter()
        .all(|exchange| exchange.started_ms.is_some())
    {
        recording.exchanges.sort_by(|a, b| {
            a.started_ms
                .partial_cmp(&b.started_ms)
                .unwrap_or(std::cmp::Ordering::Equal)
        });
    }
    Ok(recording)
}

/// Decoded fields of the body of a form; none for a body of another media type.
pub fn form_fields(media_type: &str, text: &str) -> Vec<FormField> {
    match media_type_of(media_type).as_str() {
        "application/x-www-form-urlencoded" => entry::decode_form(text),
        "multipart/form-data" => multipart::fields(media_type, text),
        _ => Vec::new(),
    }
}

fn recorder(log: &Value) -> String {
    let named = |key: &str| {
        let name = log[key]["name"].as_str()?;
        let version = log[key]["version"].as_str().unwrap_or_default();
        Some(format!("{name} {version}").trim().to_owned())
    };
    named("browser")
        .or_else(|| named("creator"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
