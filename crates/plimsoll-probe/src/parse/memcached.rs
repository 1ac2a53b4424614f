//! The answer of memcached to `stats`.

use std::collections::BTreeMap;

/// The values by name; empty when it is another answer.
pub fn stats(text: &str) -> BTreeMap<&str, &str> {
    let lines = text
        .lines()
        .filter_map(|line| line.trim_end().strip_prefix("STAT "));
    lines.filter_map(|line| line.split_once(' ')).collect()
}
