//! Which series of a metrics page are recorded, and which gauges of an application have a limit.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Longest selector, bytes.
const LEN_MAX: usize = 512;

/// A selector of series in a page of the Prometheus format, in its notation: `http_requests_total`,
/// `http_requests_total{code="500"}`, `go_gc_*`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Selector {
    name: String,
    /// The name is only how names begin.
    is_beginning: bool,
    labels: Vec<(String, String)>,
}

impl Selector {
    /// Parses it; `None` when it is not valid.
    pub fn parse(text: &str) -> Option<Self> {
        Self::parse_named(text, is_series_name)
    }

    /// Parses it with a name as StatsD and OpenTelemetry have them too, `jobs.waiting`, `http.server.active-requests`; `None`
    /// when it is not valid.
    pub fn of_meter(text: &str) -> Option<Self> {
        Self::parse_named(text, is_meter_name)
    }

    fn parse_named(text: &str, is_name: fn(&str) -> bool) -> Option<Self> {
        let text = text.trim();
        if text.len() > LEN_MAX {
            return None;
        }
        let (name, labels) = match text.split_once('{') {
            Some((name, rest)) => (name, Some(rest.strip_suffix('}')?)),
            None => (text, None),
        };
        let (name, is_beginning) = match name.trim_end().strip_suffix('*') {
            Some(beginning) => (beginning, true),
            None => (name.trim_end(), false),
        };
        if !is_name(name) {
            return None;
        }
        let mut wanted = Vec::new();
        for pair in labels.into_iter().flat_map(|labels| labels.split(',')) {
            if pair.trim().is_empty() {
                continue;
            }
            let (label, value) = pair.split_once('=')?;
            let (label, value) = (label.trim(), value.trim());
            let plain = value
                .strip_prefix('"')
                .and_then(|value| value.strip_suffix('"'));
            let value = plain.unwrap_or(value);
            if !is_name(label) || value.contains('"') {
                return None;
            }
            wanted.push((label.to_owned(), value.to_owned()));
        }
        Some(Self {
            name: name.to_owned(),
            is_beginning,
            labels: wanted,
        })
    }

    /// Whether series of this name can match.
    pub fn fits_name(&self, name: &str) -> bool {
        if self.is_beginning {
            name.starts_with(&self.name)
        } else {
            name == self.name
        }
    }

    /// Whether this series matches.
    pub fn fits(&self, name: &str, labels: &[(String, String)]) -> bool {
        self.fits_name(name) && self.labels.iter().all(|wanted| labels.contains(wanted))
    }

    /// The name, or its beginning.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// A name of a series in the Prometheus format.
fn is_series_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(is_name_byte)
}

/// A name of a meter.
fn is_meter_name(name: &str) -> bool {
    let is_byte = |byte: u8| is_name_byte(byte) || b".-/".contains(&byte);
    !name.is_empty() && name.bytes().all(is_byte)
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_:".contains(&byte)
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}{}",
            self.name,
            if self.is_beginning { "*" } else { "" }
        )?;
        for (index, (label, value)) in self.labels.iter().enumerate() {
            let before = if index == 0 { '{' } else { ',' };
            write!(f, "{before}{label}=\"{value}\"")?;
        }
        if self.labels.is_empty() {
            Ok(())
        } else {
            write!(f, "}}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_chosen_as_people_write_them() {
        let labels = [
            ("code".to_owned(), "500".to_owned()),
            ("method".to_owned(), "get".to_owned()),
        ];
        for (text, fits) in [
            ("requests_total", true),
            ("requests", false),
            ("req*", true),
            ("requests_total{code=\"500\"}", true),
            ("requests_total { method = get , code=500, }", true),
            ("requests_total{code=\"200\"}", false),
            ("req*{host=\"a\"}", false),
        ] {
            let selector = Selector::parse(text).unwrap();
            assert_eq!(selector.fits("requests_total", &labels), fits, "{text}");
            assert_eq!(Selector::parse(&selector.to_string()), Some(selector));
        }
        for text in [
            "",
            "*",
            "9lives",
            "a b",
            "a{",
            "a{b}",
            "a{b=\"c\"d\"}",
            "a{9=1}",
        ] {
            assert_eq!(Selector::parse(text), None, "{text}");
        }
    }

    #[test]
    fn meters_have_names_of_other_characters_too() {
        let labels = [("queue.name".to_owned(), "mail".to_owned())];
        for (text, fits) in [
            ("jobs.waiting", true),
            ("jobs.*", true),
            ("jobs.waiting{queue.name=mail}", true),
            ("jobs.waiting{queue.name=images}", false),
            ("http.server.active-requests", false),
        ] {
            let selector = Selector::of_meter(text).unwrap();
            assert_eq!(selector.fits("jobs.waiting", &labels), fits, "{text}");
            assert_eq!(Selector::of_meter(&selector.to_string()), Some(selector));
            assert_eq!(Selector::parse(text), None, "{text}");
        }
        for text in ["", "*", "a b", "a|g", "jobs{"] {
            assert_eq!(Selector::of_meter(text), None, "{text}");
        }
    }
}
