//! JSON as it is written.

/// A string as JSON has it.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string can always be written")
}
