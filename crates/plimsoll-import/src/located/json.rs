//! JSON with places. Size and depth are limited; half a surrogate pair becomes U+FFFD.

use std::borrow::Cow;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::{Located, LocatedError, LocatedKey, LocatedValue};

/// Deepest nesting that is read. A limit of its own, below that of the parser, so that nothing built of it is deeper.
const DEPTH_MAX: usize = 256;
/// Longest document, bytes.
const LEN_MAX: usize = 64 << 20;
/// Most values of a document: each takes about fifty times the memory of its shortest text.
const VALUES_MAX: usize = 4_000_000;

/// Reads a JSON document (RFC 8259). Of a key that occurs twice, both entries are kept.
///
/// # Errors
/// When it is no JSON, too long, or nested too deeply.
pub(crate) fn read(source: &str) -> Result<Located, LocatedError> {
    check_limits(source)?;
    let whole = without_half_pairs(source);
    let options = ParseOptions {
        allow_comments: false,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_extended_string_escapes: false,
        allow_non_finite_numbers: false,
    };
    let parsed = parse_to_ast(&whole, &CollectOptions::default(), &options).map_err(|error| {
        LocatedError {
            at: error.range().start,
            message: format!("not JSON: {}", sentence(&error.kind().to_string())),
        }
    })?;
    match parsed.value {
        Some(value) => Ok(located(&value)),
        None => Err(LocatedError {
            at: 0,
            message: "not JSON: the text is empty".to_owned(),
        }),
    }
}

fn sentence(message: &str) -> String {
    let mut chars = message.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// Refuses what is too large before anything is allocated for it.
fn check_limits(source: &str) -> Result<(), LocatedError> {
    let refuse = |at: usize, message: String| Err(LocatedError { at, message });
    if source.len() > LEN_MAX {
        let message = format!("the JSON is longer than {} MiB", LEN_MAX >> 20);
        return refuse(0, message);
    }
    let (mut depth, mut values) = (0_usize, 0_usize);
    let mut in_text = false;
    let mut bytes = source.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' if in_text => {
                bytes.next();
            }
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' | b'[' => {
                depth += 1;
                values += 1;
                if depth > DEPTH_MAX {
                    return refuse(at, format!("nested more than {DEPTH_MAX} levels deep"));
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => values += 1,
            _ => {}
        }
        if values > VALUES_MAX {
            return refuse(at, format!("more than {VALUES_MAX} values"));
        }
    }
    Ok(())
}

/// The text with U+FFFD in place of each `\uD8xx` or `\uDCxx` that has no partner: no text can contain it, and the
/// rest of the document is as good as any. Places do not change.
fn without_half_pairs(source: &str) -> Cow<'_, str> {
    let mut mended: Option<String> = None;
    let mut from = 0;
    while let Some(found) = source[from..].find('\\') {
        let at = from + found;
        let Some(unit) = escape(source, at) else {
            // The backslash and what it escapes.
            let next = source[at + 1..].chars().next().map_or(0, char::len_utf8);
            from = at + 1 + next;
            continue;
        };
        let is_pair = (0xd800..0xdc00).contains(&unit)
            && escape(source, at + 6).is_some_and(|next| (0xdc00..0xe000).contains(&next));
        if (0xd800..0xe000).contains(&unit) && !is_pair {
            mended
                .get_or_insert_with(|| source.to_owned())
                .replace_range(at..at + 6, "\\ufffd");
        }
        from = at + if is_pair { 12 } else { 6 };
    }
    mended.map_or(Cow::Borrowed(source), Cow::Owned)
}

/// The number of an escape `\uXXXX` at a byte.
fn escape(source: &str, at: usize) -> Option<u16> {
    let digits = source.get(at..at + 6)?.strip_prefix("\\u")?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

fn located(value: &Value<'_>) -> Located {
    let at = value.range().start;
    let value = match value {
        Value::StringLit(text) => LocatedValue::Text(text.value.clone().into_owned()),
        Value::NumberLit(number) => LocatedValue::Number(number.value.to_owned()),
        Value::BooleanLit(boolean) => LocatedValue::Bool(boolean.value),
        Value::NullKeyword(_) => LocatedValue::Null,
        Value::Array(list) => LocatedValue::List(list.elements.iter().map(located).collect()),
        Value::Object(map) => LocatedValue::Map(
            map.properties
                .iter()
                .map(|property| {
                    let key = LocatedKey {
                        at: property.range.start,
                        text: property.name.as_str().to_owned(),
                    };
                    (key, located(&property.value))
                })
                .collect(),
        ),
    };
    Located { at, value }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_know_their_place() {
        let source = "{ \"a\": [1, \"\\ud83d\\ude00é\"],\n \"b\": {\"c\": true, \"d\": -1.50e3, \"e\": null} }";
        let tree = read(source).unwrap();
        assert_eq!(tree.at, 0);
        let text = &tree.get("a").unwrap().items()[1];
        assert_eq!(text.text(), Some("\u{1f600}é"));
        assert_eq!(text.at, source.find("\"\\u").unwrap());
        let (key, value) = tree.entries().nth(1).unwrap();
        assert_eq!(
            (key.text.as_str(), key.at),
            ("b", source.find("\"b").unwrap())
        );
        assert!(value.get("c").unwrap().is_true());
        assert_eq!(value.get("d").unwrap().scalar().unwrap(), "-1.50e3");
        assert_eq!(value.get("e").unwrap().value, LocatedValue::Null);
    }

    #[test]
    fn half_a_pair_loses_a_character_only() {
        let tree = read(r#"["\ud83d", "a\udc00\ud83d\ude00", "\\ud83d", "\ud83dx"]"#).unwrap();
        let texts: Vec<_> = tree.items().iter().filter_map(Located::text).collect();
        assert_eq!(
            texts,
            ["\u{fffd}", "a\u{fffd}\u{1f600}", "\\ud83d", "\u{fffd}x"]
        );
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_place() {
        for (source, at) in [
            ("", 0),
            ("// a\n1", 0),
            ("{\"a\": 1,}", 7),
            ("{a: 1}", 1),
            ("['a']", 1),
            ("[1] 2", 4),
        ] {
            assert_eq!(read(source).unwrap_err().at, at, "{source}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(read(&deep).unwrap_err().at, DEPTH_MAX);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>(), marks in r#"[\[\]{}",:\\ud8cd0-9a é]{0,60}"#) {
            let _ = (read(&text), read(&marks));
        }

        #[test]
        fn what_serde_writes_comes_back(texts in prop::collection::vec(any::<String>(), 0..6), number in any::<i64>()) {
            let value = serde_json::json!({ "texts": texts, "number": number });
            let tree = read(&value.to_string()).unwrap();
            let read: Vec<_> = tree.get("texts").unwrap().items().iter().filter_map(Located::text).collect();
            prop_assert_eq!(read, texts);
            prop_assert_eq!(tree.get("number").unwrap().scalar(), Some(number.to_string()));
        }
    }
}
