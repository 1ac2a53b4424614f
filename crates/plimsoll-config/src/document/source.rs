//! The text of a document, with line and column of each byte.

use std::ops::Range;

use plimsoll_model::byte_order_mark;

/// Text with the places of its lines.
#[derive(Clone, Debug)]
pub(crate) struct SourceText {
    text: String,
    /// Byte at which each line begins.
    lines: Vec<usize>,
}

impl SourceText {
    /// A byte order mark at the start is not included.
    pub(crate) fn new(text: &str) -> Self {
        let text = byte_order_mark::skip_in(text).to_owned();
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = std::iter::once(0)
            .chain(breaks.map(|(at, _)| at + 1))
            .collect();
        Self { text, lines }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Line and column of a byte, both from 1; columns count characters.
    pub(crate) fn position(&self, at: usize) -> (usize, usize) {
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let line = self.lines.partition_point(|start| *start <= at);
        let start = self.lines[line - 1];
        (line, self.text[start..at].chars().count() + 1)
    }

    /// The byte of the source at which byte `at` of a scalar's content stands; the scalar is written in `span`. If the
    /// content differs from the source (folded lines), the nearest place before it.
    pub(crate) fn place_in(&self, span: &Range<usize>, content: &str, at: usize) -> usize {
        let raw = &self.text[span.clone()];
        let at = at.min(content.len());
        match raw.bytes().next() {
            Some(b'|' | b'>') => self.place_in_block(span, content, at),
            Some(quote @ (b'\'' | b'"')) => span.start + 1 + quoted(&raw[1..], content, at, quote),
            _ if raw.starts_with(content) => span.start + at,
            // Some parsers report block scalars from their first line of content.
            _ => self.place_in_block(span, content, at),
        }
    }

    fn place_in_block(&self, span: &Range<usize>, content: &str, at: usize) -> usize {
        let line_start = content[..at].rfind('\n').map_or(0, |place| place + 1);
        let line = content[line_start..].lines().next().unwrap_or_default();
        // Lines of a block appear in the source in order; each is searched after the previous one.
        let mut from = span.start;
        for before in content[..line_start].lines() {
            from = self.find_behind(before, from, span.end).unwrap_or(from);
        }
        if let Some(end) = self.find_behind(line, from, span.end) {
            return end - line.len() + (at - line_start);
        }
        // A folded line: the first occurrence of the word.
        let space = |c: char| c.is_whitespace();
        let word_start = content[line_start..at]
            .rfind(space)
            .map_or(line_start, |place| line_start + place + 1);
        let word = content[word_start..]
            .split(space)
            .next()
            .unwrap_or_default();
        let found = self.find_behind(word, from, span.end);
        found.map_or(span.start, |end| end - word.len() + (at - word_start))
    }

    /// The end of the first `line` in the source between two places.
    fn find_behind(&self, line: &str, from: usize, to: usize) -> Option<usize> {
        let rest = self.text.get(from..to.max(from))?;
        rest.find(line).map(|at| from + at + line.len())
    }
}

/// Bytes into what stands behind the opening quote.
fn quoted(raw: &str, content: &str, at: usize, quote: u8) -> usize {
    if raw.get(..at) == Some(&content[..at]) {
        return at;
    }
    let mut written = raw.char_indices();
    for wanted in content[..at].chars() {
        match (written.next(), quote) {
            (Some((_, '\\')), b'"') => {
                let more = match written.next() {
                    Some((_, 'x')) => 2,
                    Some((_, 'u')) => 4,
                    Some((_, 'U')) => 8,
                    _ => 0,
                };
                written.by_ref().take(more).for_each(drop);
            }
            (Some((_, '\'')), b'\'') => drop(written.next()),
            (Some((_, c)), _) if c == wanted => {}
            (Some((place, _)), _) => return place,
            (None, _) => break,
        }
    }
    written.next().map_or(raw.len(), |(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let source = SourceText::new("\u{feff}a: ä€x\nb: 1\n");
        assert_eq!(source.position(0), (1, 1));
        let x = source.text().find('x').unwrap();
        assert_eq!(source.position(x), (1, 6));
        assert_eq!(source.position(x - 1), (1, 5), "within a character");
        assert_eq!(source.position(usize::MAX), (3, 1));
    }

    #[test]
    fn content_is_found_as_it_is_written() {
        let check = |raw: &str, content: &str, word: &str| {
            let source = SourceText::new(raw);
            let at = content.find(word).unwrap();
            let place = source.place_in(&(0..raw.len()), content, at);
            assert_eq!(raw[place..].find(word), Some(0), "{raw} {place}");
        };
        check("plain word", "plain word", "word");
        check("'it''s a word'", "it's a word", "word");
        check("\"a\\n\\u00e4 word\"", "a\nä word", "word");
        check("|\n  one\n  two word\n", "one\ntwo word\n", "word");
        check(">-\n  one\n  word\n", "one word", "word");
    }
}
