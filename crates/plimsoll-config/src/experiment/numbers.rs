//! Levels and quantities as numbers: plain ones, sizes in bytes, durations in seconds.

use crate::units;

/// Letters of sizes as servers write them: `128M`. `m` is not among them: it stands for minutes.
const LETTERS: [(char, i32); 7] = [
    ('k', 1),
    ('K', 1),
    ('M', 2),
    ('g', 3),
    ('G', 3),
    ('t', 4),
    ('T', 4),
];

/// What a number counts, as powers of bytes and seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dimension {
    bytes: i8,
    seconds: i8,
}

impl Dimension {
    /// A plain number.
    pub(super) const PLAIN: Self = Self {
        bytes: 0,
        seconds: 0,
    };
    /// Bytes.
    pub(super) const SIZE: Self = Self {
        bytes: 1,
        seconds: 0,
    };
    /// Seconds.
    pub(super) const DURATION: Self = Self {
        bytes: 0,
        seconds: 1,
    };

    /// Whether numbers of both can be added and compared. A plain number fits all.
    pub(super) fn fits(self, other: Self) -> bool {
        self == other || self == Self::PLAIN || other == Self::PLAIN
    }

    /// That of the sum of two numbers that fit.
    pub(super) fn of_sum(self, other: Self) -> Self {
        if self == Self::PLAIN { other } else { self }
    }

    pub(super) fn of_product(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(other.bytes),
            seconds: self.seconds.saturating_add(other.seconds),
        }
    }

    pub(super) fn of_quotient(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(other.bytes),
            seconds: self.seconds.saturating_sub(other.seconds),
        }
    }

    /// For people.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::PLAIN => "a plain number",
            Self::SIZE => "a size",
            Self::DURATION => "a duration",
            _ => "another quantity",
        }
    }

    /// A number of this dimension, for people.
    pub(super) fn text(self, number: f64) -> String {
        const UNITS: [(&str, f64); 3] = [
            ("GiB", 1_073_741_824.0),
            ("MiB", 1_048_576.0),
            ("KiB", 1024.0),
        ];
        let rounded = |number: f64| format!("{}", (number * 100.0).round() / 100.0);
        match self {
            Self::SIZE => {
                let unit = UNITS.iter().find(|(_, len)| number.abs() >= *len);
                let (unit, len) = unit.unwrap_or(&("B", 1.0));
                format!("{}{unit}", rounded(number / len))
            }
            Self::DURATION => format!("{}s", rounded(number)),
            _ => rounded(number),
        }
    }
}

/// A text as a number; `None` for a word.
pub(super) fn number(text: &str) -> Option<(f64, Dimension)> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let finite = |number: f64| number.is_finite().then_some(number);
    let plain = |text: &str| text.replace('_', "").parse().ok().and_then(finite);
    if let Some(number) = plain(text) {
        return Some((number, Dimension::PLAIN));
    }
    if let Ok(size) = units::size(text) {
        return Some((size as f64, Dimension::SIZE));
    }
    if let Ok(duration) = units::duration(text) {
        return Some((duration.as_secs_f64(), Dimension::DURATION));
    }
    let (_, power) = LETTERS.iter().find(|(letter, _)| text.ends_with(*letter))?;
    let number = plain(&text[..text.len() - 1])?;
    Some((number * 1024_f64.powi(*power), Dimension::SIZE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_numbers_with_a_dimension() {
        for (text, expected) in [
            ("16", Some((16.0, Dimension::PLAIN))),
            ("-1", Some((-1.0, Dimension::PLAIN))),
            ("0.5", Some((0.5, Dimension::PLAIN))),
            ("1_000", Some((1000.0, Dimension::PLAIN))),
            ("64kB", Some((64_000.0, Dimension::SIZE))),
            ("2GiB", Some((2_147_483_648.0, Dimension::SIZE))),
            ("16k", Some((16_384.0, Dimension::SIZE))),
            ("128M", Some((134_217_728.0, Dimension::SIZE))),
            ("90s", Some((90.0, Dimension::DURATION))),
            ("2m", Some((120.0, Dimension::DURATION))),
            ("off", None),
            ("", None),
            ("5x2", None),
            ("inf", None),
            ("k", None),
            ("nan", None),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_of_one_dimension_are_added() {
        let (size, duration) = (Dimension::SIZE, Dimension::DURATION);
        assert!(size.fits(size) && size.fits(Dimension::PLAIN) && !size.fits(duration));
        assert_eq!(Dimension::PLAIN.of_sum(size), size);
        assert_eq!(size.of_product(Dimension::PLAIN), size);
        assert_eq!(size.of_quotient(size), Dimension::PLAIN);
        assert!(!size.of_product(size).fits(size));
        let texts = [
            size.text(1_610_612_736.0),
            size.text(12.0),
            duration.text(1.5),
            Dimension::PLAIN.text(0.125),
        ];
        assert_eq!(texts, ["1.5GiB", "12B", "1.5s", "0.13"]);
        assert_eq!(size.of_product(size).name(), "another quantity");
    }
}
