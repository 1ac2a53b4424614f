//! Makes JSON readable whose strings hold what is no Unicode text: half of a surrogate pair, which scripts write when
//! they cut a text inside an emoji, and raw bytes of another encoding.

use std::borrow::Cow;

use percent_encoding::{CONTROLS, percent_encode};

/// First of the 256 characters that stand for raw bytes: the end of a private plane, which no text uses.
const BYTES_FROM: u32 = 0x10_FE00;

/// The JSON with a replacement character for each half of a surrogate pair, and a private character for each byte that
/// is not UTF-8.
pub(super) fn mended(json: &[u8]) -> String {
    let mut text = String::with_capacity(json.len());
    for chunk in json.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|&byte| stand_in(byte)));
    }
    without_halves(&text)
}

fn stand_in(byte: u8) -> char {
    char::from_u32(BYTES_FROM + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The bytes of a string of JSON that may have been mended.
pub(super) fn bytes_of(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match u32::from(c).checked_sub(BYTES_FROM).map(u8::try_from) {
            Some(Ok(byte)) => bytes.push(byte),
            _ => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

/// A URL of JSON that may have been mended, with its raw bytes percent-encoded.
pub(super) fn percent_encoded(url: &str) -> Cow<'_, str> {
    if !has_stand_ins(url) {
        return Cow::Borrowed(url);
    }
    Cow::Owned(percent_encode(&bytes_of(url), CONTROLS).to_string())
}

/// A text of JSON that may have been mended, with a replacement character for what is not UTF-8.
pub(super) fn shown(text: &str) -> String {
    if !has_stand_ins(text) {
        return text.to_owned();
    }
    String::from_utf8_lossy(&bytes_of(text)).into_owned()
}

/// Whether characters may stand for bytes: all of these begin with the same two bytes.
fn has_stand_ins(text: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), b"\xf4\x8f").is_some()
}

/// Replaces the escapes of lone surrogates.
fn without_halves(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let len = match surrogate(rest) {
            None => escape_len(rest),
            Some(half) => {
                let pair = (half < 0xdc00).then(|| surrogate(&rest[6..])).flatten();
                if pair.is_some_and(|low| low >= 0xdc00) {
                    12
                } else {
                    out.push('\u{fffd}');
                    rest = &rest[6..];
                    continue;
                }
            }
        };
        out.push_str(&rest[..len]);
        rest = &rest[len..];
    }
    out + rest
}

/// Length of an escape, as far as it is there: a backslash and one character.
fn escape_len(text: &str) -> usize {
    let next = text[1..].chars().next();
    1 + next.map_or(0, char::len_utf8)
}

/// The surrogate whose escape the text begins with.
fn surrogate(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let number = u32::from_str_radix(digits, 16).ok()?;
    (0xd800..0xe000).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_pairs_are_replaced_and_whole_ones_stay() {
        let check = |json: &str, expected: &str| {
            let text: String = serde_json::from_str(&mended(json.as_bytes())).unwrap();
            assert_eq!(text, expected, "{json}");
        };
        check(r#""thanks \ud83d""#, "thanks \u{fffd}");
        check(r#""\ud83d\ude00!""#, "\u{1f600}!");
        check(r#""\ude00\ud83d\ude00""#, "\u{fffd}\u{1f600}");
        check(r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}");
        check(r#""\ud83d\n\\ud83d""#, "\u{fffd}\n\\ud83d");
        check(r#""\uD83D""#, "\u{fffd}");
    }

    #[test]
    fn raw_bytes_come_back() {
        let json = b"\"caf\xe9 \xf0\x9f\x98\x80 \x83\\\\\"";
        let text: String = serde_json::from_str(&mended(json)).unwrap();
        assert_eq!(bytes_of(&text), b"caf\xe9 \xf0\x9f\x98\x80 \x83\\");
        assert_eq!(bytes_of("caf\u{e9}"), "caf\u{e9}".as_bytes());
        let url: String = serde_json::from_str(&mended(b"\"http://a/caf\xe9\"")).unwrap();
        assert_eq!(percent_encoded(&url), "http://a/caf%E9");
        assert_eq!(shown(&url), "http://a/caf\u{fffd}");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_can_be_mended(json: Vec<u8>, text in "\\PC{0,20}") {
            let _ = mended(&json);
            proptest::prop_assert_eq!(bytes_of(&text), text.as_bytes());
        }
    }
}
