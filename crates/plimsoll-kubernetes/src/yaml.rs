//! A document as YAML, as `kubectl` prints it: block style, keys in order, lists as deep as their key.

use std::collections::BTreeMap;

use serde_json::Value;

/// Words that YAML, or an older version of it, reads as something else than text.
const NOT_TEXT: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// The document, each line ended.
pub(crate) fn document(value: &Value) -> String {
    let mut text = lines(value).join("\n");
    text.push('\n');
    text
}

/// The lines of a value, at depth 0.
fn lines(value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            // In order, whatever the map of `serde_json` keeps.
            let fields: BTreeMap<&String, &Value> = fields.iter().collect();
            fields
                .into_iter()
                .flat_map(|(key, value)| entry(key, value))
                .collect()
        }
        Value::Array(items) if !items.is_empty() => items.iter().flat_map(item).collect(),
        other => vec![scalar(other)],
    }
}

/// `key: value`, or the key above its value.
fn entry(key: &str, value: &Value) -> Vec<String> {
    let key = text(key);
    if !is_block(value) {
        return vec![format!("{key}: {}", scalar(value))];
    }
    let indent = if value.is_object() { "  " } else { "" };
    let below = lines(value)
        .into_iter()
        .map(|line| format!("{indent}{line}"));
    std::iter::once(format!("{key}:")).chain(below).collect()
}

/// `- value`, further lines below its beginning.
fn item(value: &Value) -> Vec<String> {
    let lines = lines(value).into_iter().enumerate();
    lines
        .map(|(index, line)| {
            let mark = if index == 0 { "- " } else { "  " };
            format!("{mark}{line}")
        })
        .collect()
}

fn is_block(value: &Value) -> bool {
    match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(value) => text(value),
        // JSON's own form is YAML's as well.
        other => other.to_string(),
    }
}

/// A text: plain where nothing can be read into it, else in double quotes, as in JSON.
fn text(value: &str) -> String {
    let is_plain = value.starts_with(|c: char| c.is_ascii_alphabetic())
        && value
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._/-".contains(c))
        && !NOT_TEXT.contains(&value.to_ascii_lowercase().as_str());
    if is_plain {
        value.to_owned()
    } else {
        Value::from(value).to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use saphyr_parser::{Event, Parser, ScalarStyle};
    use serde_json::json;

    use super::*;

    #[test]
    fn blocks_are_as_kubectl_prints_them() {
        let value = json!({
            "b": [1, { "y2": "x", "a": { "k": null } }, ["q", "10"], [], {}],
            "a": "10.0.0.5:7400",
            "n": { "on": true, "yes": "No", "text": "two\nlines" },
        });
        let expected = "\
a: \"10.0.0.5:7400\"
b:
- 1
- a:
    k: null
  y2: x
- - q
  - \"10\"
- []
- {}
\"n\":
  \"on\": true
  text: \"two\\nlines\"
  \"yes\": \"No\"
";
        assert_eq!(document(&value), expected);
    }

    /// Reads what a parser of YAML makes of a text.
    fn read(text: &str) -> Value {
        let events = Parser::new_from_str(text).map(|event| event.unwrap().0);
        let mut events = events.filter(|event| {
            matches!(
                event,
                Event::Scalar(..)
                    | Event::MappingStart(..)
                    | Event::MappingEnd
                    | Event::SequenceStart(..)
                    | Event::SequenceEnd
            )
        });
        let first = events.next().unwrap();
        read_node(first, &mut events)
    }

    fn read_node<'a>(first: Event<'a>, events: &mut dyn Iterator<Item = Event<'a>>) -> Value {
        match first {
            Event::Scalar(text, ScalarStyle::Plain, ..) => {
                // Plain text begins with a letter; all else is JSON.
                serde_json::from_str(&text).unwrap_or_else(|_| Value::from(&*text))
            }
            Event::Scalar(text, ..) => Value::from(&*text),
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    match events.next().unwrap() {
                        Event::SequenceEnd => return Value::from(items),
                        event => items.push(read_node(event, events)),
                    }
                }
            }
            Event::MappingStart(..) => {
                let mut fields = serde_json::Map::new();
                loop {
                    let event = events.next().unwrap();
                    let Event::Scalar(key, ..) = event else {
                        return Value::from(fields);
                    };
                    let key = key.to_string();
                    let first = events.next().unwrap();
                    fields.insert(key, read_node(first, events));
                }
            }
            other => panic!("{other:?}"),
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[ -~]{0,12}".prop_map(Value::from),
            "(true|No|null|1e3|~|- a|a: b|#|/run/x|a-b\\.c)".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[ -~]{1,8}", inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_parser_reads_what_was_written(value in value()) {
            prop_assert_eq!(read(&document(&value)), value);
        }
    }
}
