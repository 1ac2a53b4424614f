//! Reads broadcasts: their sequence number, their timestamp, and a hash that identifies the message.
//!
//! Thousands of connections receive the same bytes within milliseconds. The last messages are cached with their values:
//! comparing bytes costs far less than parsing them as JSON.

use std::hash::{DefaultHasher, Hasher as _};

use plimsoll_model::broadcast::unix_us;
use plimsoll_model::journey::Layout;
use plimsoll_model::websocket::WebSocketLoad;
use serde_json::Value;
use serde_json_path::JsonPath;

use crate::error::LoadError;
use crate::json::{json_at, json_path};

/// Messages in the cache: enough for a few channels, or for a few that overtook each other.
const MEMO_MAX: usize = 8;

/// Longest message in the cache, bytes.
const MEMO_LEN_MAX: usize = 128 * 1024;

/// The paths of timestamp and sequence number, compiled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    timestamp: Option<JsonPath>,
    sequence: Option<JsonPath>,
}

impl Marks {
    /// # Errors
    /// When a path is invalid.
    pub(crate) fn new(load: &WebSocketLoad) -> Result<Self, LoadError> {
        Self::of(load.timestamp.as_deref(), load.sequence.as_deref())
    }

    /// The same, from the two paths.
    ///
    /// # Errors
    /// When a path is invalid.
    pub(crate) fn of(timestamp: Option<&str>, sequence: Option<&str>) -> Result<Self, LoadError> {
        let parse = |path: Option<&str>, place| {
            let path = path.map(json_path).transpose();
            path.map_err(|found| LoadError::Plan {
                place,
                found,
                range: "a JSON path such as $.time",
            })
        };
        Ok(Self {
            timestamp: parse(timestamp, "the path of the broadcast's timestamp")?,
            sequence: parse(sequence, "the path of the broadcast's sequence number")?,
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.timestamp.is_none() && self.sequence.is_none()
    }
}

/// The values of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ParsedMarks {
    /// Hash of its content.
    pub(crate) hash: u64,
    pub(crate) sequence: Option<u64>,
    /// µs since 1970.
    pub(crate) timestamp_us: Option<u64>,
}

impl ParsedMarks {
    /// Whether it has the marks of a broadcast.
    pub(crate) fn is_marked(self) -> bool {
        self.sequence.is_some() || self.timestamp_us.is_some()
    }
}

/// Reads messages.
#[derive(Debug, Default)]
pub(crate) struct MarkFinder {
    memo: Vec<(Vec<u8>, ParsedMarks)>,
    /// Index of the last hit.
    latest: usize,
    /// The entry that is replaced next.
    oldest: usize,
}

impl MarkFinder {
    /// The values of a message.
    #[inline]
    pub(crate) fn find(&mut self, marks: &Marks, layout: Layout, bytes: &[u8]) -> ParsedMarks {
        if let Some((known, found)) = self.memo.get(self.latest)
            && known == bytes
        {
            return *found;
        }
        let known = self.memo.iter().position(|(known, _)| known == bytes);
        if let Some(index) = known {
            self.latest = index;
            return self.memo[index].1;
        }
        let found = find_marks(marks, layout, bytes);
        self.remember(bytes, found);
        found
    }

    fn remember(&mut self, bytes: &[u8], found: ParsedMarks) {
        if bytes.len() > MEMO_LEN_MAX {
            return;
        }
        if self.memo.len() < MEMO_MAX {
            self.latest = self.memo.len();
            self.memo.push((bytes.to_vec(), found));
            return;
        }
        let (known, was) = &mut self.memo[self.oldest];
        known.clear();
        known.extend_from_slice(bytes);
        *was = found;
        self.latest = self.oldest;
        self.oldest = (self.oldest + 1) % MEMO_MAX;
    }
}

fn find_marks(marks: &Marks, layout: Layout, bytes: &[u8]) -> ParsedMarks {
    // The same hash in every loop and process.
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    let mut found = ParsedMarks {
        hash: hasher.finish(),
        ..ParsedMarks::default()
    };
    if marks.is_empty() {
        return found;
    }
    let Some(value) = json_at(bytes, layout.offset(bytes)) else {
        return found;
    };
    let first = |path: &Option<JsonPath>| path.as_ref()?.query(&value).into_iter().next();
    found.sequence = first(&marks.sequence).and_then(sequence);
    found.timestamp_us = first(&marks.timestamp).and_then(timestamp_us);
    found
}

/// A whole number, or a text of one.
fn sequence(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_u64(),
    }
}

/// A moment as a number, or as a text of one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 2001 and 2286"
)]
fn timestamp_us(value: &Value) -> Option<u64> {
    let timestamp = match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    };
    unix_us(timestamp?).map(|us| us.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn marks() -> Marks {
        Marks::new(&WebSocketLoad {
            connections: 1,
            per_second: 1.0,
            hold: Duration::ZERO,
            message: None,
            timestamp: Some("$.at".to_owned()),
            sequence: Some("$.meta.seq".to_owned()),
            compress: false,
            is_stream: false,
            reconnect: None,
        })
        .unwrap()
    }

    #[test]
    fn stamps_and_numbers_are_found_in_any_form() {
        let mut finder = MarkFinder::default();
        for (text, sequence, timestamp_us) in [
            (
                r#"{"at":1700000000,"meta":{"seq":7}}"#,
                Some(7),
                Some(1_700_000_000_000_000),
            ),
            (r#"{"at":1700000000123}"#, None, Some(1_700_000_000_123_000)),
            (
                r#"{"at":"1700000000123456"}"#,
                None,
                Some(1_700_000_000_123_456),
            ),
            (
                r#"{"at":1700000000123456789,"meta":{"seq":"8"}}"#,
                Some(8),
                Some(1_700_000_000_123_457),
            ),
            (r#"{"at":12,"meta":{"seq":-1}}"#, None, None),
            (r#"{"other":1}"#, None, None),
            ("no JSON", None, None),
        ] {
            let found = finder.find(&marks(), Layout::Plain, text.as_bytes());
            assert_eq!(
                (found.sequence, found.timestamp_us),
                (sequence, timestamp_us),
                "{text}"
            );
            assert_eq!(
                found.is_marked(),
                sequence.is_some() || timestamp_us.is_some()
            );
            assert_eq!(
                finder.find(&marks(), Layout::Plain, text.as_bytes()),
                found,
                "remembered"
            );
        }
    }

    #[test]
    fn what_is_remembered_is_bounded_and_right() {
        let mut finder = MarkFinder::default();
        for round in 0..3_u64 {
            for seq in 0..3 * MEMO_MAX as u64 {
                let text = format!(r#"{{"meta":{{"seq":{seq}}}}}"#);
                let found = finder.find(&marks(), Layout::Plain, text.as_bytes());
                assert_eq!(found.sequence, Some(seq), "round {round}");
            }
        }
        finder.find(&marks(), Layout::Plain, &vec![b' '; MEMO_LEN_MAX + 1]);
        assert_eq!(finder.memo.len(), MEMO_MAX);
        assert!(finder.memo.iter().all(|(known, _)| known.len() < 100));
    }

    #[test]
    fn a_path_that_is_none_is_refused() {
        let load = WebSocketLoad {
            connections: 1,
            per_second: 1.0,
            hold: Duration::ZERO,
            message: None,
            timestamp: None,
            sequence: Some("seq".to_owned()),
            compress: false,
            is_stream: false,
            reconnect: None,
        };
        let error = Marks::new(&load).unwrap_err().to_string();
        assert!(
            error.contains("number") && error.contains("$.time"),
            "{error}"
        );
    }
}
