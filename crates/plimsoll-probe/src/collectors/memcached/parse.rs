//! The response of memcached to `stats`.

use std::collections::BTreeMap;

/// Values by name; empty for another response.
pub(crate) fn stats(text: &str) -> BTreeMap<&str, &str> {
    let lines = text
        .lines()
        .filter_map(|line| line.trim_end().strip_prefix("STAT "));
    lines.filter_map(|line| line.split_once(' ')).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn stats_are_read() {
        let stats = stats("STAT pid 7\r\nSTAT version 1.6 x\r\nEND\r\n");
        assert_eq!(
            (stats.get("pid"), stats.get("version")),
            (Some(&"7"), Some(&"1.6 x"))
        );
    }

    proptest! {
        /// No response of a component crashes the probe.
        #[test]
        fn any_text_is_taken(text in any::<String>()) {
            let _ = stats(&text);
        }
    }
}
