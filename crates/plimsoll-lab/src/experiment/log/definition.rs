//! How two definitions of experiments differ.

use serde_json::Value;

/// Longest value that is shown, characters.
const SHOWN_MAX: usize = 60;

/// The first difference, for people: `trials is 3 in the log, and 5 now`.
pub(super) fn first_difference(stored: &Value, wanted: &Value) -> Option<String> {
    let (path, stored, wanted) = difference(stored, wanted, String::new())?;
    let path = if path.is_empty() {
        "the definition"
    } else {
        &path
    };
    Some(format!(
        "`{path}` is {} in the log, and {} now",
        shown(stored),
        shown(wanted)
    ))
}

type Difference<'v> = (String, Option<&'v Value>, Option<&'v Value>);

fn difference<'v>(stored: &'v Value, wanted: &'v Value, path: String) -> Option<Difference<'v>> {
    match (stored, wanted) {
        (Value::Object(stored), Value::Object(wanted)) => {
            let keys = stored
                .keys()
                .chain(wanted.keys().filter(|key| !stored.contains_key(*key)));
            keys.into_iter().find_map(|key| {
                let dot = if path.is_empty() { "" } else { "." };
                inner(
                    stored.get(key),
                    wanted.get(key),
                    format!("{path}{dot}{key}"),
                )
            })
        }
        (Value::Array(stored), Value::Array(wanted)) => (0..stored.len().max(wanted.len()))
            .find_map(|index| {
                inner(
                    stored.get(index),
                    wanted.get(index),
                    format!("{path}[{index}]"),
                )
            }),
        _ => (stored != wanted).then_some((path, Some(stored), Some(wanted))),
    }
}

fn inner<'v>(
    stored: Option<&'v Value>,
    wanted: Option<&'v Value>,
    path: String,
) -> Option<Difference<'v>> {
    match (stored, wanted) {
        (Some(stored), Some(wanted)) => difference(stored, wanted, path),
        _ => Some((path, stored, wanted)),
    }
}

fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else {
        return "missing".to_owned();
    };
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        let stored = json!({ "axes": [{ "levels": ["1", "2"] }], "trials": 3 });
        for (wanted, expected) in [
            (stored.clone(), None),
            (
                json!({ "axes": [{ "levels": ["1", "2"] }], "trials": 5 }),
                Some("`trials` is 3 in the log, and 5 now"),
            ),
            (
                json!({ "axes": [{ "levels": ["1", "2", "4"] }], "trials": 3 }),
                Some("`axes[0].levels[2]` is missing in the log, and \"4\" now"),
            ),
            (
                json!({ "axes": [{ "levels": ["1", "2"] }] }),
                Some("`trials` is 3 in the log, and missing now"),
            ),
            (
                json!(1),
                Some(
                    "`the definition` is {\"axes\":[{\"levels\":[\"1\",\"2\"]}],\"trials\":3} in the log, and 1 now",
                ),
            ),
        ] {
            assert_eq!(first_difference(&stored, &wanted).as_deref(), expected);
        }
    }
}
