//! The difference of two JSON objects as a merge patch (RFC 7396). Values are copied as text: numbers are never parsed
//! and written again.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::json::quoted;

/// Depth limit of the comparison.
const DEPTH_MAX: u8 = 32;

/// The patch from the older to the newer object. `None` if there is none, because a value is not an object or a member
/// becomes `null`; or if it is not shorter than the newer object.
pub(crate) fn patch(older: &str, newer: &str) -> Option<String> {
    let mut patch = String::new();
    write(older, newer, 0, &mut patch)?;
    (patch.len() < newer.len()).then_some(patch)
}

fn members(json: &str) -> Option<BTreeMap<String, &RawValue>> {
    serde_json::from_str(json).ok()
}

fn write(older: &str, newer: &str, depth: u8, out: &mut String) -> Option<()> {
    if depth >= DEPTH_MAX {
        return None;
    }
    let (older, newer) = (members(older)?, members(newer)?);
    let mut between = '{';
    for (key, value) in &newer {
        let value = value.get();
        let before = older.get(key).map(|before| before.get());
        if before == Some(value) {
            continue;
        }
        begin(out, &mut between, key);
        if value.starts_with('{') {
            // A new object is compared with an empty one.
            let before = before.filter(|before| before.starts_with('{'));
            write(before.unwrap_or("{}"), value, depth + 1, out)?;
        } else if value == "null" {
            return None;
        } else {
            out.push_str(value);
        }
    }
    for key in older.keys().filter(|key| !newer.contains_key(*key)) {
        begin(out, &mut between, key);
        out.push_str("null");
    }
    if between == '{' {
        out.push(between);
    }
    out.push('}');
    Some(())
}

fn begin(out: &mut String, between: &mut char, key: &str) {
    out.push(*between);
    *between = ',';
    out.push_str(&quoted(key));
    out.push(':');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::*;

    /// Applies a patch as the standard defines (RFC 7396, 2).
    fn apply(target: Value, patch: &Value) -> Value {
        let Value::Object(patch) = patch else {
            return patch.clone();
        };
        let mut whole = match target {
            Value::Object(whole) => whole,
            _ => Map::new(),
        };
        for (key, value) in patch {
            if value.is_null() {
                whole.remove(key);
            } else {
                let before = whole.remove(key).unwrap_or_default();
                whole.insert(key.clone(), apply(before, value));
            }
        }
        Value::Object(whole)
    }

    #[test]
    fn what_has_changed_is_said() {
        let padding = "x".repeat(100);
        let with = |more: &str| format!(r#"{{"p":"{padding}",{more}}}"#);
        for (older, newer, expected) in [
            (r#""a":1,"b":2"#, r#""a":1,"b":3"#, Some(r#"{"b":3}"#)),
            (r#""a":1,"b":2"#, r#""b":2"#, Some(r#"{"a":null}"#)),
            (r#""a":1"#, r#""a":1"#, Some("{}")),
            (
                r#""o":{"x":1,"y":2}"#,
                r#""o":{"x":1,"y":[3]}"#,
                Some(r#"{"o":{"y":[3]}}"#),
            ),
            (r#""o":5"#, r#""o":{}"#, Some(r#"{"o":{}}"#)),
            (
                r#""o":[1]"#,
                r#""o":[null,{"a":null}]"#,
                Some(r#"{"o":[null,{"a":null}]}"#),
            ),
            // Digits are preserved, however many.
            (
                r#""a":1"#,
                r#""a":18446744073709551617"#,
                Some(r#"{"a":18446744073709551617}"#),
            ),
            (r#""a":1"#, r#""a":null"#, None),
            (r#""a":1"#, r#""a":{"b":null}"#, None),
            (r#""a":null"#, r#""a":null"#, Some("{}")),
        ] {
            let change = patch(&with(older), &with(newer));
            assert_eq!(change.as_deref(), expected, "{older} to {newer}");
        }
        for (older, newer) in [
            ("1", "{}"),
            ("{}", "[1]"),
            ("{}", "{}"),
            (r#"{"a":1}"#, r#"{"b":1}"#),
        ] {
            assert_eq!(patch(older, newer), None, "{older} to {newer}");
        }
        let deep = |inner: u32| format!("{}{inner}{}", r#"{"a":"#.repeat(40), "}".repeat(40));
        assert_eq!(patch(&deep(1), &deep(2)), None);
    }

    fn object() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            (0..3).prop_map(|number| json!(number)),
            "[a\"]{0,20}".prop_map(Value::from),
        ];
        let value = leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[abc]", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        });
        prop::collection::btree_map("[abcd]", value, 0..5)
            .prop_map(|map| Value::Object(map.into_iter().collect()))
    }

    proptest! {
        #[test]
        fn a_patch_makes_the_newer_of_the_older(older in object(), newer in object()) {
            if let Some(text) = patch(&older.to_string(), &newer.to_string()) {
                let difference: Value = serde_json::from_str(&text).unwrap();
                prop_assert_eq!(apply(older, &difference), newer);
            }
        }
    }
}
