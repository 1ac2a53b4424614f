//! JSON as it is printed and published: indented, with a newline at the end.

use schemars::JsonSchema;
use serde::Serialize;

/// The object of a `--json`.
pub fn object(object: &impl Serialize) -> String {
    let mut text =
        serde_json::to_string_pretty(object).expect("the object is made of strings and maps");
    text.push('\n');
    text
}

/// The JSON Schema (2020-12) of such an object.
pub fn schema<T: JsonSchema>() -> String {
    object(&schemars::schema_for!(T))
}
