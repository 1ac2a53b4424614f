//! Texts with placeholders, filled from a user's values.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use plimsoll_model::journey::{self, Function, Inputs, TextPiece};
use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use sha2::{Digest as _, Sha256};

/// No row was taken from a feed.
pub(crate) const NO_ROW: u32 = u32::MAX;

/// Longest random text, characters.
const RANDOM_LEN_MAX: i64 = 65_536;

/// Unreserved characters of a path or query (RFC 3986, 2.3).
const URI_COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The values for placeholders.
pub(crate) struct TemplateValues<'a> {
    pub(crate) slots: &'a [Vec<u8>],
    /// Row taken of each feed, or [`NO_ROW`].
    pub(crate) rows: &'a [u32],
    pub(crate) inputs: &'a Inputs,
    /// From 1.
    pub(crate) user: u64,
    /// From 1.
    pub(crate) iteration: u64,
    /// Unix time, ns.
    pub(crate) unix_ns: u64,
    pub(crate) random: &'a mut Xoshiro256PlusPlus,
}

/// A compiled text.
#[derive(Clone, Debug, Default)]
pub(crate) struct CompiledText {
    segments: Vec<TextSegment>,
}

#[derive(Clone, Debug)]
enum TextSegment {
    Literal(Box<[u8]>),
    Slot(u32),
    Column(u32, u32),
    File(u32),
    User,
    Iteration,
    Call(Function, Vec<CompiledText>),
}

impl CompiledText {
    pub(crate) fn new(text: &journey::TextTemplate) -> Self {
        let mut segments = Vec::with_capacity(text.pieces.len());
        for piece in &text.pieces {
            segments.push(match piece {
                TextPiece::Literal(text) => TextSegment::Literal(text.as_bytes().into()),
                TextPiece::Slot(slot) => TextSegment::Slot(*slot),
                TextPiece::Column(feed, column) => TextSegment::Column(*feed, *column),
                TextPiece::File(file) => TextSegment::File(*file),
                TextPiece::User => TextSegment::User,
                TextPiece::Iteration => TextSegment::Iteration,
                TextPiece::Call(function, arguments) => {
                    TextSegment::Call(*function, arguments.iter().map(Self::new).collect())
                }
            });
        }
        Self { segments }
    }

    pub(crate) fn literal(text: &[u8]) -> Self {
        Self {
            segments: vec![TextSegment::Literal(text.into())],
        }
    }

    /// Its bytes when it is constant.
    pub(crate) fn constant(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        for segment in &self.segments {
            let TextSegment::Literal(literal) = segment else {
                return None;
            };
            bytes.extend_from_slice(literal);
        }
        Some(bytes)
    }

    /// Appends it to `out` with its placeholders filled.
    pub(crate) fn render(&self, values: &mut TemplateValues<'_>, out: &mut Vec<u8>) {
        for segment in &self.segments {
            match segment {
                TextSegment::Literal(text) => out.extend_from_slice(text),
                TextSegment::Slot(slot) => {
                    if let Some(value) = values.slots.get(*slot as usize) {
                        out.extend_from_slice(value);
                    }
                }
                TextSegment::Column(feed, column) => {
                    if let Some(value) = cell(values, *feed, *column) {
                        out.extend_from_slice(value.as_bytes());
                    }
                }
                TextSegment::File(file) => {
                    if let Some(content) = values.inputs.files.get(*file as usize) {
                        out.extend_from_slice(content);
                    }
                }
                TextSegment::User => number(out, values.user),
                TextSegment::Iteration => number(out, values.iteration),
                TextSegment::Call(function, arguments) => call(*function, arguments, values, out),
            }
        }
    }

    /// The same as a string.
    pub(crate) fn filled(&self, values: &mut TemplateValues<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        self.render(values, &mut out);
        out
    }

    /// Feeds whose columns it uses.
    pub(crate) fn feeds(&self, found: &mut Vec<u32>) {
        for segment in &self.segments {
            match segment {
                TextSegment::Column(feed, _) if !found.contains(feed) => found.push(*feed),
                TextSegment::Call(_, arguments) => {
                    for text in arguments {
                        text.feeds(found);
                    }
                }
                _ => {}
            }
        }
    }
}

fn cell<'a>(values: &TemplateValues<'a>, feed: u32, column: u32) -> Option<&'a str> {
    let row = *values.rows.get(feed as usize)?;
    let rows = values.inputs.rows.get(feed as usize)?;
    let value = rows.get(row as usize)?.get(column as usize)?;
    Some(value.as_str())
}

/// Appends a number in decimal digits.
pub(crate) fn number(out: &mut Vec<u8>, number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut left = number;
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(left % 10).expect("a digit");
        left /= 10;
        if left == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

fn call(
    function: Function,
    arguments: &[CompiledText],
    values: &mut TemplateValues<'_>,
    out: &mut Vec<u8>,
) {
    let mut argument = |index: usize| {
        arguments
            .get(index)
            .map(|text| text.filled(values))
            .unwrap_or_default()
    };
    match function {
        Function::RandomInt => {
            let (low, high) = (integer(&argument(0)), integer(&argument(1)));
            let drawn = values.random.random_range(low.min(high)..=high.max(low));
            // Writing to a vector cannot fail.
            let _ = write!(out, "{drawn}");
        }
        Function::RandomString => {
            let len = integer(&argument(0)).clamp(0, RANDOM_LEN_MAX);
            for _ in 0..len {
                out.push(letter(values.random));
            }
        }
        Function::Uuid => uuid(values.random, out),
        Function::Pick => {
            if !arguments.is_empty() {
                let index = values.random.random_range(0..arguments.len());
                arguments[index].render(values, out);
            }
        }
        Function::Now => number(out, values.unix_ns / 1_000_000_000),
        Function::NowMs => number(out, values.unix_ns / 1_000_000),
        Function::Urlencode => {
            for piece in percent_encode(&argument(0), URI_COMPONENT) {
                out.extend_from_slice(piece.as_bytes());
            }
        }
        Function::Unescape => {
            let text = argument(0);
            let text = String::from_utf8_lossy(&text);
            out.extend_from_slice(html_escape::decode_html_entities(&text).as_bytes());
        }
        Function::Base64 => out.extend_from_slice(STANDARD.encode(argument(0)).as_bytes()),
        Function::Sha256 => {
            for byte in Sha256::digest(argument(0)) {
                // Writing to a vector cannot fail.
                let _ = write!(out, "{byte:02x}");
            }
        }
        Function::Json => {
            let text = argument(0);
            let quoted = serde_json::Value::from(String::from_utf8_lossy(&text)).to_string();
            out.extend_from_slice(&quoted.as_bytes()[1..quoted.len() - 1]);
        }
    }
}

fn integer(text: &[u8]) -> i64 {
    let text = String::from_utf8_lossy(text);
    text.trim().parse().unwrap_or(0)
}

fn letter(random: &mut Xoshiro256PlusPlus) -> u8 {
    const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    LETTERS[random.random_range(0..LETTERS.len())]
}

fn uuid(random: &mut Xoshiro256PlusPlus, out: &mut Vec<u8>) {
    let mut bytes: [u8; 16] = random.random();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        // Writing to a vector cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::seed::Seed;

    fn render(pieces: Vec<TextPiece>, seed: u64) -> String {
        let inputs = Inputs {
            rows: vec![vec![vec!["ada".to_owned(), "p w".to_owned()]]],
            files: vec![b"int main;".to_vec()],
            ..Inputs::default()
        };
        let slots = [b"a&b=c".to_vec(), Vec::new()];
        let mut random = Seed(seed).generator();
        let mut values = TemplateValues {
            slots: &slots,
            rows: &[0],
            inputs: &inputs,
            user: 7,
            iteration: 120,
            unix_ns: 1_700_000_000_123_000_000,
            random: &mut random,
        };
        let text = CompiledText::new(&journey::TextTemplate { pieces });
        String::from_utf8(text.filled(&mut values)).unwrap()
    }

    fn with(function: Function, arguments: &[&str]) -> String {
        let arguments = arguments
            .iter()
            .map(|text| journey::TextTemplate::literal(*text));
        render(vec![TextPiece::Call(function, arguments.collect())], 3)
    }

    #[test]
    fn holes_are_filled() {
        let pieces = vec![
            TextPiece::Literal("/".to_owned()),
            TextPiece::Slot(0),
            TextPiece::Slot(1),
            TextPiece::Literal("|".to_owned()),
            TextPiece::Column(0, 1),
            TextPiece::Literal("|".to_owned()),
            TextPiece::File(0),
            TextPiece::User,
            TextPiece::Literal("/".to_owned()),
            TextPiece::Iteration,
        ];
        assert_eq!(render(pieces, 1), "/a&b=c|p w|int main;7/120");
    }

    #[test]
    fn functions_obey_their_standards() {
        assert_eq!(with(Function::Urlencode, &["a b/ü~"]), "a%20b%2F%C3%BC~");
        assert_eq!(
            with(Function::Unescape, &["&lt;a href=&quot;x&amp;y&#39;&gt;"]),
            "<a href=\"x&y'>"
        );
        assert_eq!(with(Function::Base64, &["user:pass"]), "dXNlcjpwYXNz");
        // FIPS 180-4's example.
        assert_eq!(
            with(Function::Sha256, &["abc"]),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(with(Function::Json, &["say \"hi\"\n"]), "say \\\"hi\\\"\\n");
        assert_eq!(with(Function::Now, &[]), "1700000000");
        assert_eq!(with(Function::NowMs, &[]), "1700000000123");
    }

    #[test]
    fn what_is_drawn_comes_from_the_seed() {
        let uuid = with(Function::Uuid, &[]);
        assert_eq!((uuid.len(), &uuid[14..15]), (36, "4"));
        assert_eq!(uuid, with(Function::Uuid, &[]));
        for seed in 0..50 {
            let call = |function, arguments: &[&str]| {
                let arguments = arguments
                    .iter()
                    .map(|text| journey::TextTemplate::literal(*text));
                render(vec![TextPiece::Call(function, arguments.collect())], seed)
            };
            let drawn: i64 = call(Function::RandomInt, &["-3", "3"]).parse().unwrap();
            assert!((-3..=3).contains(&drawn));
            assert!(["x", "y"].contains(&call(Function::Pick, &["x", "y"]).as_str()));
            assert_eq!(call(Function::RandomString, &["12"]).len(), 12);
        }
    }
}
