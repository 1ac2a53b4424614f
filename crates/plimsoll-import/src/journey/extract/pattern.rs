//! The last resort: a regular expression from the text around a value.

use regex::Regex;

use super::{Extraction, ValueLocator};

/// Lengths of the preceding text that are tried, bytes.
const BEFORE: [usize; 6] = [8, 12, 16, 24, 36, 56];
/// Shortest preceding text that is specific enough, characters.
const BEFORE_MIN: usize = 3;
/// Most occurrences of the value tried per response.
const PLACES_MAX: usize = 8;
/// Most matches of a pattern with a number.
const PICK_MAX: usize = 50;

/// A regular expression whose first group is `value`.
pub(super) fn find(content: &str, value: &str) -> Option<Extraction> {
    find_written(content, value, false).or_else(|| {
        let escaped = value
            .replace('&', "&amp;")
            .replace('"', "&quot;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        (escaped != value).then(|| find_written(content, &escaped, true))?
    })
}

fn find_written(content: &str, value: &str, unescape: bool) -> Option<Extraction> {
    let mut numbered: Option<Extraction> = None;
    for (start, _) in content.match_indices(value).take(PLACES_MAX) {
        let end = start + value.len();
        for length in BEFORE {
            let Some(pattern) = pattern(content, start, end, length) else {
                continue;
            };
            let Some(pick) = position(content, &pattern, value) else {
                continue;
            };
            let found = Extraction {
                way: ValueLocator::Regex(pattern),
                pick,
                unescape,
            };
            if pick == 1 {
                return Some(found);
            }
            if numbered.as_ref().is_none_or(|best| pick < best.pick) {
                numbered = Some(found);
            }
        }
    }
    numbered
}

/// The preceding text, the value as a group, and the character after it.
fn pattern(content: &str, start: usize, end: usize, length: usize) -> Option<String> {
    let mut from = start.saturating_sub(length);
    while !content.is_char_boundary(from) {
        from += 1;
    }
    let line = content[from..start].rsplit(['\n', '\r']).next()?;
    // Variable text is no anchor: the preceding text starts after the last variable value.
    let landmark = match line
        .char_indices()
        .rev()
        .scan(0, digits_run)
        .find(|&(_, run)| run >= 4)
    {
        Some((at, _)) => &line[at + 4..],
        None => line,
    };
    if landmark.trim().chars().count() < BEFORE_MIN {
        return None;
    }
    let behind = content[end..].chars().next();
    let group = match behind {
        Some(mark) if !mark.is_alphanumeric() && !content[start..end].contains(mark) => {
            let class = match mark {
                '\n' | '\r' => "\\r\\n".to_owned(),
                '^' | ']' | '[' | '\\' | '-' | '&' | '~' => format!("\\{mark}"),
                mark => mark.to_string(),
            };
            let close = if mark.is_whitespace() {
                "\\s".to_owned()
            } else {
                regex::escape(&mark.to_string())
            };
            format!("([^{class}]+){close}")
        }
        Some(_) => return None,
        None => "(.+)$".to_owned(),
    };
    Some(format!("{}{group}", regex::escape(landmark)))
}

/// Counts consecutive digits from the end.
#[expect(clippy::unnecessary_wraps, reason = "`scan` ends on `None`")]
fn digits_run(run: &mut usize, (at, c): (usize, char)) -> Option<(usize, usize)> {
    *run = if c.is_ascii_digit() { *run + 1 } else { 0 };
    Some((at, *run))
}

fn position(content: &str, pattern: &str, value: &str) -> Option<usize> {
    let regex = Regex::new(pattern).ok()?;
    let found = regex
        .captures_iter(content)
        .take(PICK_MAX)
        .position(|captures| captures.get(1).is_some_and(|group| group.as_str() == value))?;
    Some(found + 1)
}
