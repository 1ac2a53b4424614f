//! Values of fields: numbers, durations, escapes of the log, texts and paths.

use std::borrow::Cow;

use memchr::memchr;

use crate::entry::LASTED_MAX_MS;

/// Bytes of a field, borrowed from the line where no escape had to be undone.
pub(crate) type Value<'a> = Cow<'a, [u8]>;

/// How a log escapes what would break its format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Escape {
    /// Nothing is escaped.
    #[default]
    None,
    /// `\xHH`, `\"`, `\\`, `\n`: nginx and Apache. `\u00HH` is a byte, as the edge of Plimsoll writes it.
    Backslash,
    /// As in JSON.
    Json,
    /// `#HH`: `HAProxy`.
    Hash,
}

impl Escape {
    /// The bytes that the log escaped.
    pub(crate) fn undo(self, text: &[u8]) -> Value<'_> {
        let mark = match self {
            Self::None => return Cow::Borrowed(text),
            Self::Backslash | Self::Json => b'\\',
            Self::Hash => b'#',
        };
        match memchr(mark, text) {
            None => Cow::Borrowed(text),
            Some(first) => Cow::Owned(self.undone(text, mark, first)),
        }
    }

    fn undone(self, text: &[u8], mark: u8, first: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        out.extend_from_slice(&text[..first]);
        let mut rest = &text[first..];
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            if byte != mark {
                out.push(byte);
                continue;
            }
            let taken = match self {
                Self::Hash => hex(after, 2).map(|(code, rest)| {
                    out.push(low_byte(code));
                    rest
                }),
                _ => self.backslash(after, &mut out),
            };
            match taken {
                Some(after) => rest = after,
                // No escape of this log: the mark stands for itself.
                None => out.push(byte),
            }
        }
        out
    }

    /// What stands behind a backslash.
    fn backslash<'a>(self, text: &'a [u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
        let (kind, rest) = text.split_first()?;
        let plain = match kind {
            b'"' | b'\\' | b'/' | b'\'' | b'[' | b']' => *kind,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 0x0b,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'x' | b'X' => {
                let (code, rest) = hex(rest, 2)?;
                out.push(low_byte(code));
                return Some(rest);
            }
            b'u' => {
                let (code, rest) = hex(rest, 4)?;
                return self.code_point(code, rest, out);
            }
            _ => return None,
        };
        out.push(plain);
        Some(rest)
    }

    fn code_point<'a>(self, code: u32, rest: &'a [u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
        if self == Self::Backslash && code < 0x100 {
            out.push(low_byte(code));
            return Some(rest);
        }
        let (code, rest) = match (code, rest.strip_prefix(b"\\u")) {
            (0xd800..0xdc00, Some(second)) => {
                let (low, rest) = hex(second, 4)?;
                let low = low.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                (0x1_0000 + ((code - 0xd800) << 10) + low, rest)
            }
            _ => (code, rest),
        };
        // Half a surrogate pair is no character; what it was is lost.
        let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        Some(rest)
    }
}

/// Whether a text of JSON has half a surrogate pair, which stands for no bytes.
pub(crate) fn has_lone_surrogate(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some(at) = memchr(b'\\', rest) {
        let after = &rest[at + 1..];
        let code = after.strip_prefix(b"u").and_then(|digits| hex(digits, 4));
        rest = match code {
            Some((0xd800..0xdc00, second)) => {
                let low = second
                    .strip_prefix(b"\\u")
                    .and_then(|digits| hex(digits, 4));
                match low {
                    Some((0xdc00..0xe000, after)) => after,
                    _ => return true,
                }
            }
            Some((0xdc00..0xe000, _)) => return true,
            Some((_, after)) => after,
            None => after.get(1..).unwrap_or_default(),
        };
    }
    false
}

fn low_byte(code: u32) -> u8 {
    u8::try_from(code & 0xff).unwrap_or_default()
}

/// A number of this many hexadecimal digits, and what follows.
fn hex(text: &[u8], digits: usize) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.split_at_checked(digits)?;
    let mut code = 0;
    for digit in digits {
        code = code * 16 + char::from(*digit).to_digit(16)?;
    }
    Some((code, rest))
}

/// Undoes one level of percent-encoding.
pub(crate) fn percent_decoded(text: &[u8]) -> Value<'_> {
    let Some(first) = memchr(b'%', text) else {
        return Cow::Borrowed(text);
    };
    let mut out = Vec::with_capacity(text.len());
    out.extend_from_slice(&text[..first]);
    let mut rest = &text[first..];
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match (byte, hex(after, 2)) {
            (b'%', Some((code, after))) => {
                out.push(low_byte(code));
                rest = after;
            }
            _ => out.push(byte),
        }
    }
    Cow::Owned(out)
}

/// A text; bytes that are no UTF-8 become replacement characters.
pub(crate) fn text(value: Value<'_>) -> Cow<'_, str> {
    match value {
        // The lossy reader looks at characters one by one; this one at words of ASCII.
        Cow::Borrowed(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(bytes),
        },
        Cow::Owned(bytes) => Cow::Owned(match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }),
    }
}

/// Whether a client sends this byte of a path or query as it is. The others are those that the URL Standard encodes in
/// a query, and the backslash, which browsers take for a slash.
fn is_sent_plain(byte: u8) -> bool {
    matches!(byte, 0x21..=0x7e) && !matches!(byte, b'"' | b'<' | b'>' | b'\\')
}

/// A path as a client sends it: all that is not printable ASCII is percent-encoded.
pub(crate) fn path(value: Value<'_>) -> Cow<'_, str> {
    if value.iter().all(|byte| is_sent_plain(*byte)) {
        return text(value);
    }
    let mut out = String::with_capacity(value.len() + 16);
    for &byte in value.iter() {
        if is_sent_plain(byte) {
            out.push(char::from(byte));
        } else {
            push_percent(&mut out, byte);
        }
    }
    Cow::Owned(out)
}

pub(crate) fn push_percent(out: &mut String, byte: u8) {
    out.push('%');
    for nibble in [byte >> 4, byte & 15] {
        out.push(char::from(b"0123456789ABCDEF"[usize::from(nibble)]));
    }
}

/// Whether a log writes this where it has no value.
pub(crate) fn is_absent(text: &[u8]) -> bool {
    matches!(text, b"" | b"-" | b"\"-\"" | b"null" | b"nil" | b"(null)")
}

/// A finite number.
pub(crate) fn number(text: &[u8]) -> Option<f64> {
    if text.len() > 40 {
        return None;
    }
    if text.len() < 16
        && let Some(whole) = whole(text)
    {
        return Some(whole as f64);
    }
    let parsed: f64 = std::str::from_utf8(text).ok()?.trim().parse().ok()?;
    parsed.is_finite().then_some(parsed)
}

/// A whole number; only digits.
pub(crate) fn whole(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    text.iter().try_fold(0_u64, |sum, byte| {
        byte.is_ascii_digit()
            .then(|| sum * 10 + u64::from(byte - b'0'))
    })
}

/// Unit of a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
}

impl Unit {
    pub(crate) fn in_ms(self) -> f64 {
        match self {
            Self::Nanoseconds => 1e-6,
            Self::Microseconds => 1e-3,
            Self::Milliseconds => 1.0,
            Self::Seconds => 1e3,
        }
    }

    /// Milliseconds; absent if it is no plausible duration.
    pub(crate) fn read(self, text: &[u8]) -> Option<f64> {
        plausible(number(text)? * self.in_ms())
    }
}

/// Milliseconds, if a request can last that long.
pub(crate) fn plausible(ms: f64) -> Option<f64> {
    (0.0..=LASTED_MAX_MS).contains(&ms).then_some(ms)
}

/// Milliseconds of `12ms`, `0.012s`, `1m2.5s` or `850µs`; absent without a unit.
pub(crate) fn duration_with_unit(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let mut rest = text;
    let mut ms = 0.0;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .filter(|digits| *digits > 0)?;
        let amount: f64 = rest[..digits].parse().ok()?;
        let unit_text = rest[digits..].trim_start();
        let length = unit_text
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(unit_text.len());
        let unit = match unit_text[..length].trim_end() {
            "ns" => 1e-6,
            "us" | "\u{b5}s" | "\u{3bc}s" => 1e-3,
            "ms" => 1.0,
            "s" | "sec" | "seconds" => 1e3,
            "m" | "min" => 6e4,
            "h" => 3.6e6,
            _ => return None,
        };
        ms += amount * unit;
        rest = &unit_text[length..];
    }
    (!text.is_empty()).then_some(ms).and_then(plausible)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_are_undone() {
        for (escape, written, meant) in [
            (
                Escape::Backslash,
                r"/caf\xC3\xA9?q=\x22a\x22",
                "/caf\u{e9}?q=\"a\"".as_bytes(),
            ),
            (Escape::Backslash, r#"/say/\"hi\"\\"#, br#"/say/"hi"\"#),
            (Escape::Backslash, r"a\u00ffb\q\x2", b"a\xffb\\q\\x2"),
            (
                Escape::Json,
                r"a\u00e9\ud83d\ude00\/",
                "a\u{e9}\u{1f600}/".as_bytes(),
            ),
            (Escape::Json, r"\ud83d", "\u{fffd}".as_bytes()),
            (Escape::Hash, "say #22hi#22 #7c #zz", b"say \"hi\" | #zz"),
            (Escape::None, r"\x41", br"\x41"),
        ] {
            assert_eq!(escape.undo(written.as_bytes()).as_ref(), meant, "{written}");
        }
    }

    #[test]
    fn durations_with_their_units() {
        for (text, ms) in [
            ("12ms", Some(12.0)),
            ("0.012s", Some(12.0)),
            ("1m2.5s", Some(62_500.0)),
            ("850\u{b5}s", Some(0.85)),
            ("12", None),
            ("ms", None),
            ("", None),
            ("1795311825s", None),
        ] {
            assert_eq!(duration_with_unit(text.as_bytes()), ms, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_path_is_printable_and_decodes_to_its_bytes(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let sent = path(Cow::Borrowed(&bytes)).into_owned();
            prop_assert!(sent.bytes().all(is_sent_plain));
            if !bytes.contains(&b'%') {
                let decoded = percent_decoded(sent.as_bytes());
                prop_assert_eq!(decoded.as_ref(), bytes.as_slice());
            }
        }

        #[test]
        fn no_escape_panics(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            for escape in [Escape::Backslash, Escape::Json, Escape::Hash] {
                prop_assert!(escape.undo(&bytes).len() <= bytes.len() * 3);
            }
        }
    }
}
