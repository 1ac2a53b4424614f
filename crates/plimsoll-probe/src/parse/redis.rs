//! The response of Redis and Valkey to `INFO`.

use std::collections::BTreeMap;

/// The fields of all sections by name.
pub fn info(text: &str) -> BTreeMap<&str, &str> {
    let fields = text
        .lines()
        .filter_map(|line| line.trim_end().split_once(':'));
    fields.filter(|(name, _)| !name.starts_with('#')).collect()
}

/// A time in seconds, such as `12.345678`, in whole microseconds.
pub fn micros(seconds: &str) -> Option<u64> {
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
pub fn error_count(field: &str) -> Option<u64> {
    subfield(field, "count=")
}

/// Calls and µs of a `cmdstat_…` field: `calls=3,usec=40,usec_per_call=13.33`.
pub fn command(field: &str) -> Option<(u64, u64)> {
    Some((subfield(field, "calls=")?, subfield(field, "usec=")?))
}

fn subfield(field: &str, name: &str) -> Option<u64> {
    let value = field.split(',').find_map(|pair| pair.strip_prefix(name));
    value?.parse().ok()
}
