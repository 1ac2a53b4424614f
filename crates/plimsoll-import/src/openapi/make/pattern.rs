//! Texts that match a regular expression.

use regex::RegexBuilder;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

use crate::openapi::chance::Chance;

/// Longest expression that is read, bytes.
const PATTERN_LEN_MAX: usize = 4096;
/// Deepest nesting of groups.
const NESTING_MAX: u32 = 50;
/// Largest compiled expression, bytes.
const COMPILED_MAX: usize = 4 << 20;
/// Longest text that is made, characters.
const LENGTH_MAX: usize = 10_000;
/// How many repetitions more than the least are tried, in this order.
const MORE: [usize; 5] = [3, 1, 0, 8, 20];
/// Characters that other parts of an expression may take of the shortest length.
const REST_MAX: usize = 12;
/// Texts that are tried for each.
const TRIES: usize = 4;

/// A text that matches all expressions and has at least `min` and at most `max` characters.
///
/// Expressions are those of ECMAScript; look-around and references have no meaning here, and such an expression gives no
/// text.
pub(super) fn matching(
    patterns: &[&str],
    (min, max): (usize, usize),
    chance: &mut Chance,
) -> Option<String> {
    let (first, _) = patterns.split_first()?;
    let parsed = parsed(first)?;
    let exact = (0..=REST_MAX).filter_map(|rest| min.checked_sub(rest));
    let counts = MORE.into_iter().chain(exact);
    counts.filter(|more| *more <= LENGTH_MAX).find_map(|more| {
        (0..TRIES).find_map(|_| {
            let mut writer = Writer {
                text: String::new(),
                count: 0,
                more: u32::try_from(more).ok()?,
                chance,
            };
            writer.write(&parsed)?;
            let (text, count) = (writer.text, writer.count);
            // An expression without anchors is found in a longer text, too.
            let padding = "a".repeat(min.saturating_sub(count));
            [format!("{padding}{text}"), format!("{text}{padding}")]
                .into_iter()
                .find(|text| count + padding.len() <= max && matches_all(patterns, text))
        })
    })
}

/// Whether a text matches all expressions; not if one of them cannot be read.
pub(super) fn matches_all(patterns: &[&str], text: &str) -> bool {
    patterns.iter().all(|pattern| {
        pattern.len() <= PATTERN_LEN_MAX
            && RegexBuilder::new(pattern)
                .nest_limit(NESTING_MAX)
                .size_limit(COMPILED_MAX)
                .build()
                .is_ok_and(|regex| regex.is_match(text))
    })
}

fn parsed(pattern: &str) -> Option<Hir> {
    if pattern.len() > PATTERN_LEN_MAX {
        return None;
    }
    ParserBuilder::new()
        .nest_limit(NESTING_MAX)
        .build()
        .parse(pattern)
        .ok()
}

/// Writes a text that matches.
struct Writer<'c> {
    text: String,
    /// Characters so far.
    count: usize,
    more: u32,
    chance: &'c mut Chance,
}

impl Writer<'_> {
    fn write(&mut self, part: &Hir) -> Option<()> {
        match part.kind() {
            HirKind::Empty | HirKind::Look(_) => Some(()),
            HirKind::Literal(literal) => {
                for c in std::str::from_utf8(&literal.0).ok()?.chars() {
                    self.push(c)?;
                }
                Some(())
            }
            HirKind::Class(class) => {
                let c = character(class, self.chance)?;
                self.push(c)
            }
            HirKind::Repetition(repetition) => self.repeat(repetition),
            HirKind::Capture(capture) => self.write(&capture.sub),
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.write(part)),
            HirKind::Alternation(parts) => {
                let part = self.chance.pick(parts)?;
                self.write(part)
            }
        }
    }

    fn repeat(&mut self, repetition: &Repetition) -> Option<()> {
        let most = repetition.max.unwrap_or(u32::MAX);
        let wanted = repetition.min.saturating_add(self.more).min(most);
        for _ in 0..wanted {
            let before = self.count;
            self.write(&repetition.sub)?;
            if self.count == before {
                // Nothing more comes of it.
                break;
            }
        }
        Some(())
    }

    fn push(&mut self, c: char) -> Option<()> {
        self.count += 1;
        self.text.push(c);
        (self.count <= LENGTH_MAX).then_some(())
    }
}

/// A character of a class: a letter or digit if it has one.
fn character(class: &Class, chance: &mut Chance) -> Option<char> {
    const PREFERRED: [(char, char); 4] = [('a', 'z'), ('0', '9'), ('A', 'Z'), ('!', '~')];
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class
            .ranges()
            .iter()
            .map(|range| (range.start(), range.end()))
            .collect(),
        Class::Bytes(class) => class
            .ranges()
            .iter()
            .filter(|range| range.end().is_ascii())
            .map(|range| (char::from(range.start()), char::from(range.end())))
            .collect(),
    };
    let common = |(low, high): (char, char)| {
        ranges
            .iter()
            .map(|(start, end)| (low.max(*start), high.min(*end)))
            .filter(|(start, end)| start <= end)
            .collect::<Vec<_>>()
    };
    let preferred = PREFERRED
        .into_iter()
        .map(common)
        .find(|found| !found.is_empty());
    let ranges = preferred.unwrap_or(ranges);
    let (start, end) = *chance.pick(&ranges)?;
    let width = u32::from(end) - u32::from(start);
    let offset = u32::try_from(chance.below(usize::try_from(width).ok()? + 1)).ok()?;
    // Between the two halves of surrogates there is no character.
    char::from_u32(u32::from(start) + offset).or(Some(start))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn made(pattern: &str, min: usize, max: usize) -> Option<String> {
        matching(&[pattern], (min, max), &mut Chance::new(1, pattern))
    }

    #[test]
    fn texts_match_their_patterns() {
        for (pattern, min, max) in [
            (r"^[A-Z]{3}-\d{4}$", 0, 100),
            (r"^(\+\d{1,3} )?\(?\d{3}\)?[ .-]\d{4}$", 0, 100),
            (r"^[^/\s]+$", 10, 12),
            (r"^\w*$", 1, 3),
            (r"^[a-f0-9]{64}$", 64, 64),
            (r"^https?:\/\/[\w.\-]+\/$", 0, 60),
            (r"^\p{L}+$", 1, 20),
            (r"^(?:red|green|blue)$", 0, 9),
            (r"\.(jpg|png)$", 8, 20),
            (r"^.*$", 500, 1500),
            ("", 0, 5),
        ] {
            let text = made(pattern, min, max).unwrap_or_else(|| panic!("{pattern}"));
            assert!(
                (min..=max).contains(&text.chars().count()),
                "{pattern}: {text}"
            );
        }
    }

    #[test]
    fn what_has_no_text_gives_none() {
        for pattern in [
            "(?=a)b",
            r"(a)\1",
            "^a{100000}$",
            "[",
            "^a$^",
            &"(".repeat(9999),
        ] {
            assert_eq!(made(pattern, 0, 100), None, "{pattern}");
        }
        assert_eq!(made("^abc$", 4, 9), None);
        let both = matching(&["^a", "b$"], (0, 9), &mut Chance::new(1, "both"));
        assert_eq!(both, None);
    }

    proptest! {
        #[test]
        fn no_pattern_makes_it_panic(pattern in any::<String>(), near in r"[\[\](){}^$.*+?|a-c0-9\\dwx,-]{0,20}") {
            for pattern in [pattern, near] {
                if let Some(text) = made(&pattern, 0, 50) {
                    prop_assert!(matches_all(&[&pattern], &text));
                }
            }
        }
    }
}
