//! JSON of responses and messages, and JSON paths.

use plimsoll_model::journey::bounded_json_path;
use serde_json::Value;
use serde_json_path::JsonPath;

/// The JSON value that begins at a byte; when that is the first byte, nothing may follow it.
pub(crate) fn json_at(bytes: &[u8], at: usize) -> Option<Value> {
    if at == 0 {
        return serde_json::from_slice(bytes).ok();
    }
    let rest = serde_json::Deserializer::from_slice(bytes.get(at..)?);
    rest.into_iter().next()?.ok()
}

/// A JSON path, compiled.
///
/// # Errors
/// When it is invalid, too long or too deep.
pub(crate) fn json_path(path: &str) -> Result<JsonPath, String> {
    bounded_json_path(path)
        .and_then(|()| JsonPath::parse(path).map_err(|error| error.to_string()))
        .map_err(|error| format!("invalid JSON path {path} (RFC 9535): {error}"))
}
