//! K6 scripts as plans.

use crate::Imported;
use crate::script::{Script, ScriptError, ScriptOptions};

/// Makes a plan of k6 scripts.
///
/// # Errors
/// When nothing of it can be read.
pub fn import(script: &Script<'_>, options: &ScriptOptions) -> Result<Imported, ScriptError> {
    let _ = options;
    Err(script.error(0, "not written yet", "wait"))
}
