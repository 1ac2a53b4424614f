//! Words of a sentence, each with its place.

use std::ops::Range;

/// A word, a number or a sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// In lower case.
    pub(super) text: String,
    /// Bytes of the input.
    pub(super) span: Range<usize>,
    /// A comma or the like follows: a number does not go on.
    pub(super) ends_phrase: bool,
}

/// Signs that separate phrases.
const PUNCTUATION: [char; 6] = [',', ';', '.', '!', '?', ':'];

/// The tokens of a text.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(|c: char| !c.is_whitespace()) {
        let start = at + start;
        let end = word_end(text, start);
        add_word(text, start..end, &mut tokens);
        at = end;
    }
    tokens
}

/// The end of the word at `start`; one in double quotes may contain spaces.
pub(super) fn word_end(text: &str, start: usize) -> usize {
    if text[start..].starts_with('"')
        && let Some(length) = text[start + 1..].find('"')
    {
        return start + length + 2;
    }
    let length = text[start..].find(char::is_whitespace);
    length.map_or(text.len(), |length| start + length)
}

fn add_word(text: &str, span: Range<usize>, tokens: &mut Vec<Token>) {
    let word = &text[span.clone()];
    let bare = word.trim_end_matches(PUNCTUATION);
    if bare.is_empty() {
        // A sign alone ends the phrase before it.
        if let Some(last) = tokens.last_mut() {
            last.ends_phrase = true;
        }
        return;
    }
    let ends_phrase = bare.len() < word.len();
    let first = tokens.len();
    for (from, to) in segments(bare) {
        tokens.push(Token {
            text: bare[from..to].to_lowercase(),
            span: span.start + from..span.start + to,
            ends_phrase: false,
        });
    }
    if let Some(last) = tokens[first..].last_mut() {
        last.ends_phrase = ends_phrase;
    }
}

/// `200/s` is a number, a sign and a unit; `10s`, `10x` and `3000-users` are a number and a word; `req/s` a word, a sign and a
/// unit. All else stays one word.
fn segments(word: &str) -> Vec<(usize, usize)> {
    let is_of_number = |c: char| c.is_ascii_digit() || matches!(c, ',' | '_' | '.' | ':');
    let mut segments = Vec::new();
    let mut rest = 0;
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        rest = word.find(|c| !is_of_number(c)).unwrap_or(word.len());
        segments.push((0, rest));
        if word[rest..].starts_with('-') {
            rest += 1;
        }
    }
    if let Some(slash) = word[rest..].find('/')
        && (slash > 0 || rest > 0)
        && is_unit(&word[rest + slash + 1..])
    {
        if slash > 0 {
            segments.push((rest, rest + slash));
        }
        segments.push((rest + slash, rest + slash + 1));
        rest += slash + 1;
    }
    if rest < word.len() {
        segments.push((rest, word.len()));
    }
    segments
}

fn is_unit(word: &str) -> bool {
    super::words::unit_ms(&word.to_lowercase()).is_some()
}
