//! The response of memcached to `stats`.

use std::collections::BTreeMap;

/// Values by name; empty for another response.
pub fn stats(text: &str) -> BTreeMap<&str, &str> {
    let lines = text
        .lines()
        .filter_map(|line| line.trim_end().strip_prefix("STAT "));
    lines.filter_map(|line| line.split_once(' ')).collect()
}
