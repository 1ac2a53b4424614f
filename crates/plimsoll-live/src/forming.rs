//! The finding as it forms: what the rules conclude from the log so far.
//!
//! The log is read on a thread of its own, between trials and only while somebody watches. Long logs wait for the end.

use std::path::Path;

use plimsoll_analysis::findings;
use plimsoll_lab::run_log;
use serde_json::{Value, json};

/// Longest log that is read while it grows, bytes: about an hour of a plain load.
const LOG_LEN_MAX: u64 = 24 << 20;

/// The findings so far, for the document; `None` when the log is too long or cannot be read.
pub(crate) fn findings(log: &Path) -> Option<Value> {
    let len = std::fs::metadata(log).ok()?.len();
    if len > LOG_LEN_MAX {
        return None;
    }
    let loaded = run_log::read(log).ok()?;
    let found = findings::find(&loaded.run);
    Some(json!({ "is_final": false, "list": found }))
}
