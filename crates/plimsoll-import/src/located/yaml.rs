//! YAML with places. Depth and size are limited before memory is allocated.

use super::{Located, LocatedError};

/// Reads a YAML document.
///
/// # Errors
/// When it is no YAML, or nested too deeply.
pub(crate) fn read(source: &str) -> Result<Located, LocatedError> {
    let _ = source;
    Err(LocatedError {
        at: 0,
        message: "not written yet".to_owned(),
    })
}
