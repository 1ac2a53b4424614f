//! Texts of a format, a pattern, or a length.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::pattern::{matches_all, matching};
use crate::openapi::chance::Chance;
use crate::openapi::documents::Node;
use crate::openapi::schema::Constraints;

/// Longest text that is made, characters.
const LENGTH_MAX: usize = 100_000;
/// Words of texts without a meaning of their own.
const WORDS: [&str; 16] = [
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "iris", "juniper",
    "kelp", "lark", "maple", "north", "opal", "plain",
];

/// A text that the constraints allow, or why none can be made.
pub(super) fn text(constraints: &Constraints<'_>, chance: &mut Chance) -> Result<String, String> {
    let min = usize::try_from(constraints.min_len).unwrap_or(usize::MAX);
    let max = constraints
        .max_len
        .map_or(usize::MAX, |max| usize::try_from(max).unwrap_or(usize::MAX));
    if min > LENGTH_MAX || min > max {
        return Err(format!("no text has {min} to {max} characters"));
    }
    let format = format_of(constraints);
    let patterns: Vec<&str> = constraints
        .patterns
        .iter()
        .filter_map(|node| Node::text(*node))
        .collect();
    let fitting = format.and_then(|format| formatted(format, (min, max), chance));
    if patterns.is_empty() {
        return match (format, fitting) {
            (Some(_), Some(text)) => Ok(text),
            (Some(format), None) if is_known(format) => Err(format!(
                "no text of the format {format} has {min} to {max} characters"
            )),
            _ => Ok(words((min, max), chance)),
        };
    }
    let by_format = fitting.filter(|text| matches_all(&patterns, text));
    by_format
        .or_else(|| matching(&patterns, (min, max.min(LENGTH_MAX)), chance))
        .ok_or_else(|| {
            let shown: String = patterns[0].chars().take(60).collect();
            format!("no text was found for the pattern {shown}")
        })
}

fn format_of<'d>(constraints: &Constraints<'d>) -> Option<&'d str> {
    match constraints.encoding {
        Some("base64" | "base64url") => Some("byte"),
        _ => constraints.format,
    }
}

fn is_known(format: &str) -> bool {
    const LENGTHS_ARE_FREE: [&str; 3] = ["password", "binary", "char"];
    !LENGTHS_ARE_FREE.contains(&format) && value(format, &mut Chance::new(0, "")).is_some()
}

/// A value of a format with a length between two; none if the format is unknown or has none.
fn formatted(format: &str, (min, max): (usize, usize), chance: &mut Chance) -> Option<String> {
    let value = value(format, chance)?;
    let count = value.chars().count();
    if (min..=max).contains(&count) {
        return Some(value);
    }
    let missing = min.saturating_sub(count);
    let padding = |letters: usize| "a".repeat(letters);
    let other = match format {
        "email" | "idn-email" if missing > 0 => format!("{}{value}", padding(missing)),
        "email" | "idn-email" => "a@b.example".to_owned(),
        "uri" | "url" | "iri" | "uri-reference" | "iri-reference" if missing > 0 => {
            format!("{value}{}", padding(missing))
        }
        "uri" | "url" | "iri" => "http://a.example".to_owned(),
        "byte" => {
            // Each three bytes are four characters.
            let groups = min.div_ceil(4).max(1);
            BASE64_STANDARD.encode(padding(3 * groups))
        }
        _ => return None,
    };
    (min..=max)
        .contains(&other.chars().count())
        .then_some(other)
}

/// A value of a format.
fn value(format: &str, chance: &mut Chance) -> Option<String> {
    let number = |chance: &mut Chance, low, high| chance.between(low, high);
    Some(match format {
        "date-time" => format!("{}T{}", date(chance), time(chance)),
        "date" | "full-date" => date(chance),
        "time" | "partial-time" => time(chance),
        "duration" => format!("PT{}M", number(chance, 1, 59)),
        "uuid" | "guid" => uuid(chance),
        "email" | "idn-email" => {
            format!("{}.{}@example.com", word(chance), word(chance))
        }
        "hostname" | "idn-hostname" => format!("{}.example.com", word(chance)),
        "ipv4" | "ip" => format!("192.0.2.{}", number(chance, 1, 254)),
        "ipv6" => format!("2001:db8::{:x}", number(chance, 1, 0xfffe)),
        "uri" | "url" | "iri" => {
            format!(
                "https://example.com/{}/{}",
                word(chance),
                number(chance, 1, 99)
            )
        }
        "uri-reference" | "iri-reference" => {
            format!("/{}/{}", word(chance), number(chance, 1, 99))
        }
        "uri-template" => format!("/{}/{{id}}", word(chance)),
        "json-pointer" => format!("/{}", word(chance)),
        "relative-json-pointer" => format!("0/{}", word(chance)),
        "regex" => format!("^{}$", word(chance)),
        "byte" => BASE64_STANDARD.encode(word(chance)),
        "int32" | "int64" | "integer" | "bigint" | "int" => number(chance, 1, 99).to_string(),
        "decimal" | "double" | "float" | "number" => format!("{}.5", number(chance, 1, 99)),
        "char" => word(chance)[..1].to_owned(),
        _ => return None,
    })
}

fn date(chance: &mut Chance) -> String {
    let (month, day) = (chance.between(1, 12), chance.between(1, 28));
    format!("2025-{month:02}-{day:02}")
}

fn time(chance: &mut Chance) -> String {
    let (hour, minute) = (chance.between(0, 23), chance.between(0, 59));
    format!("{hour:02}:{minute:02}:00Z")
}

fn uuid(chance: &mut Chance) -> String {
    let digits = format!("{:016x}{:016x}", chance.next(), chance.next());
    let variant = ["8", "9", "a", "b"][chance.below(4)];
    format!(
        "{}-{}-4{}-{variant}{}-{}",
        &digits[..8],
        &digits[8..12],
        &digits[13..16],
        &digits[17..20],
        &digits[20..32]
    )
}

fn word(chance: &mut Chance) -> &'static str {
    WORDS[chance.below(WORDS.len())]
}

/// Words of a length between two.
fn words((min, max): (usize, usize), chance: &mut Chance) -> String {
    let mut text = word(chance).to_owned();
    while text.len() < min {
        text.push('-');
        text.push_str(word(chance));
    }
    // All are ASCII.
    text.truncate(max);
    if text.ends_with('-') {
        text.pop();
        text.push('a');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(constraints: &Constraints<'_>) -> Result<String, String> {
        text(constraints, &mut Chance::new(1, "x"))
    }

    #[test]
    fn lengths_are_kept() {
        for (min, max) in [(0, 1), (3, 3), (20, 25), (1000, 1000), (0, 0)] {
            let constraints = Constraints {
                min_len: min,
                max_len: Some(max),
                ..Constraints::default()
            };
            let count = made(&constraints).unwrap().len() as u64;
            assert!((min..=max).contains(&count), "{min} {max} {count}");
        }
        let impossible = Constraints {
            min_len: 9,
            max_len: Some(1),
            ..Constraints::default()
        };
        assert!(made(&impossible).is_err());
    }

    #[test]
    fn formats_keep_lengths_or_say_that_they_cannot() {
        let with = |format, min_len, max_len| Constraints {
            format: Some(format),
            min_len,
            max_len: Some(max_len),
            ..Constraints::default()
        };
        assert_eq!(made(&with("email", 0, 11)).unwrap(), "a@b.example");
        assert_eq!(made(&with("email", 60, 60)).unwrap().len(), 60);
        assert_eq!(made(&with("byte", 40, 40)).unwrap().len(), 40);
        assert_eq!(made(&with("password", 9, 9)).unwrap().len(), 9);
        assert_eq!(made(&with("colour", 9, 9)).unwrap().len(), 9);
        assert!(made(&with("uuid", 0, 5)).is_err());
    }
}
