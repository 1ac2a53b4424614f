//! The response of Redis and Valkey to `INFO`.

use std::collections::BTreeMap;

/// The fields of all sections by name.
pub(crate) fn info(text: &str) -> BTreeMap<&str, &str> {
    let fields = text
        .lines()
        .filter_map(|line| line.trim_end().split_once(':'));
    fields.filter(|(name, _)| !name.starts_with('#')).collect()
}

/// A time in seconds, such as `12.345678`, in whole microseconds.
pub(crate) fn micros(seconds: &str) -> Option<u64> {
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let digits = fraction.get(..fraction.len().min(6))?;
    let below: u64 = if digits.is_empty() {
        0
    } else {
        digits.parse().ok()?
    };
    let scale = 10_u64.pow(6 - u32::try_from(digits.len()).ok()?);
    whole
        .parse::<u64>()
        .ok()?
        .checked_mul(1_000_000)?
        .checked_add(below * scale)
}

/// The count of an `errorstat_…` field: `count=12`.
pub(crate) fn error_count(field: &str) -> Option<u64> {
    subfield(field, "count=")
}

/// Calls and µs of a `cmdstat_…` field: `calls=3,usec=40,usec_per_call=13.33`.
pub(crate) fn command(field: &str) -> Option<(u64, u64)> {
    Some((subfield(field, "calls=")?, subfield(field, "usec=")?))
}

fn subfield(field: &str, name: &str) -> Option<u64> {
    let value = field.split(',').find_map(|pair| pair.strip_prefix(name));
    value?.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn info_is_read() {
        let info = info(
            "# Server\r\nrun_id:a1\r\nexecutable:/usr/bin/redis:x\r\n\r\n# Clients\r\nconnected_clients:3\r\n",
        );
        assert_eq!(info.get("connected_clients"), Some(&"3"));
        assert_eq!(info.get("executable"), Some(&"/usr/bin/redis:x"));
        assert_eq!(micros("12.034500"), Some(12_034_500));
        assert_eq!(micros("3"), Some(3_000_000));
        assert_eq!(micros("-1.5"), None);
        assert_eq!(error_count("count=12"), Some(12));
        let field = "calls=3,usec=40123,usec_per_call=13374.33,rejected_calls=0";
        assert_eq!(command(field), Some((3, 40_123)));
        assert_eq!(command("usec=4"), None);
    }

    proptest! {
        /// No response of a component crashes the probe.
        #[test]
        fn any_text_is_taken(text in any::<String>()) {
            for value in info(&text).values() {
                let _ = (micros(value), error_count(value), command(value));
            }
        }
    }
}
