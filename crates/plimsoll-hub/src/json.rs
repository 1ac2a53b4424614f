//! JSON output.

/// A JSON string.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string can always be written")
}
