//! The finding as it forms: what the rules conclude from the log so far.
//!
//! The log is read on a thread of its own, between trials and only while somebody watches. Long logs wait for the end.

use std::path::Path;

use plimsoll_analysis::findings;
use plimsoll_lab::run_log;
use serde_json::{Value, json};

/// Longest log that is read while it grows, bytes: more than an hour of a plain load.
const LOG_LEN_MAX: u64 = 16 << 20;
/// Shortest time from one reading to the next for each mebibyte of the log, s: to read it takes about 100 ms of CPU, so that the
/// page takes half a percent of a core for it.
const PAUSE_S_OF_MEBIBYTE: u64 = 20;

/// Seconds that must pass before the log is read again, now that it is so long.
pub(crate) fn pause_s(log: &Path) -> u32 {
    // A log that cannot be measured cannot be read either.
    pause_s_of(std::fs::metadata(log).map_or(0, |metadata| metadata.len()))
}

fn pause_s_of(log_len: u64) -> u32 {
    let pause_s = (log_len >> 20).saturating_mul(PAUSE_S_OF_MEBIBYTE);
    u32::try_from(pause_s).unwrap_or(u32::MAX)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_log_is_read_less_often() {
        let pauses = [0, 1 << 20, LOG_LEN_MAX].map(pause_s_of);
        assert_eq!(pauses, [0, 20, 320]);
    }
}
