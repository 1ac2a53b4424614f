//! Bands of patience: names with their limits.

use std::ops::Range;

use plimsoll_model::patience::{BANDS_MAX, NAME_LENGTH_MAX, PatienceBand};

use crate::document::{DocumentNode, DocumentReader};
use crate::{Problem, units};

/// What is valid as the bands of a flag.
const FLAG_VALID: &str = "names with a time each, such as instant=100ms,fluent=1s";
/// What is valid in a plan.
const PLAN_VALID: &str = "names with a time each, such as { instant: 100ms, fluent: 1s }; users who leave when they have \
     waited too long have `gives_up: 5s`";
const NAME_VALID: &str = "1 to 40 characters";
const NUMBER_VALID: &str = "1 to 20 bands";
const TIMES_VALID: &str = "a different name and time for each band";

/// The bands of `instant=100ms,fluent=1s`, in the order of their limits.
///
/// # Errors
/// When a name or a time is missing, invalid or duplicate, or there are more than 20.
pub fn bands(text: &str) -> Result<Vec<PatienceBand>, Problem> {
    let mut bands = Vec::new();
    let mut start = 0;
    for part in text.split(',') {
        let span = start..start + part.len();
        start += part.len() + 1;
        let wrong = |message: &str, valid: &str| Problem::new(text, span.clone(), message, valid);
        let (name, time) = part
            .split_once('=')
            .ok_or_else(|| wrong("not a name with a time", FLAG_VALID))?;
        let at = span.start + name.len() + 1;
        let within = units::duration_above_zero(time).map_err(|error| error.within(text, at))?;
        let band = band(name.trim(), within).ok_or_else(|| wrong("invalid name", NAME_VALID))?;
        if is_there(&bands, &band) {
            return Err(wrong("duplicate name or time", TIMES_VALID));
        }
        bands.push(band);
    }
    if bands.len() > BANDS_MAX {
        let all: Range<usize> = 0..text.len();
        let message = format!("there are {} bands", bands.len());
        return Err(Problem::new(text, all, message, NUMBER_VALID));
    }
    bands.sort_by_key(|band| band.within_us);
    Ok(bands)
}

/// The same of a plan.
pub(crate) fn patience(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
) -> Option<Vec<PatienceBand>> {
    let entries = reader.entries(node, PLAN_VALID)?;
    if !(1..=BANDS_MAX).contains(&entries.len()) {
        let message = format!("there are {} bands", entries.len());
        reader.report(node, message, NUMBER_VALID);
        return None;
    }
    let mut bands = Vec::new();
    for (key, node) in entries {
        let within = reader.duration_above_zero(node)?;
        let Some(band) = band(&key.text, within) else {
            let message = format!("invalid name `{}`", key.text);
            reader.report_at(key.span.start, message, NAME_VALID, None);
            continue;
        };
        if is_there(&bands, &band) {
            reader.report(node, "duplicate name or time", TIMES_VALID);
        }
        bands.push(band);
    }
    bands.sort_by_key(|band| band.within_us);
    Some(bands)
}

fn band(name: &str, within: std::time::Duration) -> Option<PatienceBand> {
    let is_valid = (1..=NAME_LENGTH_MAX).contains(&name.chars().count())
        && !name.chars().any(char::is_control);
    let within_us = u64::try_from(within.as_micros()).ok()?;
    is_valid.then(|| PatienceBand {
        name: name.to_owned(),
        within_us,
    })
}

fn is_there(bands: &[PatienceBand], band: &PatienceBand) -> bool {
    let mut bands = bands.iter();
    bands.any(|other| other.name == band.name || other.within_us == band.within_us)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_are_in_the_order_of_their_limits() {
        let bands = bands("gone=10s, fluent=1s,instant=100ms").unwrap();
        let named: Vec<(&str, u64)> = bands
            .iter()
            .map(|band| (band.name.as_str(), band.within_us))
            .collect();
        assert_eq!(
            named,
            [
                ("instant", 100_000),
                ("fluent", 1_000_000),
                ("gone", 10_000_000)
            ]
        );
    }

    #[test]
    fn what_is_no_band_is_refused() {
        let many: Vec<String> = (1..=21).map(|n| format!("b{n}={n}ms")).collect();
        for (wrong, at) in [
            ("", 0),
            ("instant", 0),
            ("a=1s,b", 5),
            ("a=1s,=2s", 5),
            ("a=1s,b=soon", 7),
            ("a=0s", 2),
            ("a=1s,a=2s", 5),
            ("a=1s,b=1000ms", 5),
            (&many.join(","), 0),
        ] {
            let problem = bands(wrong).unwrap_err();
            assert_eq!(problem.span.start, at, "{wrong}: {problem}");
        }
        assert_eq!(bands(&many[..20].join(",")).unwrap().len(), 20);
    }
}
