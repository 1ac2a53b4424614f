//! Values in JSON responses, by path (RFC 9535).

use std::collections::VecDeque;
use std::fmt::Write as _;

use serde_json::Value;
use serde_json_path::JsonPath;

use super::{Extraction, ValueLocator};

/// Most values examined per response.
const VALUES_MAX: usize = 200_000;

/// The shortest path to a text or number equal to `value`.
pub(super) fn find(json: &Value, value: &str) -> Option<Extraction> {
    let mut queue = VecDeque::from([("$".to_owned(), json)]);
    let mut visited = 0_usize;
    while let Some((path, node)) = queue.pop_front() {
        visited += 1;
        if visited > VALUES_MAX {
            return None;
        }
        match node {
            Value::String(text) if text == value => return proven(path, json, value),
            Value::Number(number) if number.to_string() == value => {
                return proven(path, json, value);
            }
            Value::Array(items) => {
                queue.extend(
                    items
                        .iter()
                        .enumerate()
                        .map(|(index, item)| (format!("{path}[{index}]"), item)),
                );
            }
            Value::Object(members) => {
                // A variable key would not be found next time.
                let steady = members
                    .iter()
                    .filter(|(key, _)| !crate::heuristics::is_id_segment(key));
                queue.extend(steady.map(|(key, member)| (child(&path, key), member)));
            }
            _ => {}
        }
    }
    None
}

fn proven(path: String, json: &Value, value: &str) -> Option<Extraction> {
    let parsed = JsonPath::parse(&path).ok()?;
    let first = parsed.query(json).first()?;
    let text = first
        .as_str()
        .map_or_else(|| first.to_string(), str::to_owned);
    (text == value).then(|| Extraction::first(ValueLocator::Json(path)))
}

fn child(path: &str, key: &str) -> String {
    let starts = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if starts && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return format!("{path}.{key}");
    }
    let mut quoted = String::new();
    for c in key.chars() {
        match c {
            '\'' => quoted.push_str("\\'"),
            '\\' => quoted.push_str("\\\\"),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    format!("{path}['{quoted}']")
}
