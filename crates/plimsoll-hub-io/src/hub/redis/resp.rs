//! Lines, texts and numbers of the protocol of Redis (RESP 2), and its commands. Pure.

use std::fmt::Write as _;

/// Longest line, bytes.
const LINE_LEN_MAX: usize = 64 * 1024;
/// Longest text, bytes: longer than any message may be.
const TEXT_LEN_MAX: usize = 32 << 20;
/// Malformed data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MalformedResp;

/// The line that begins at an offset, and where it ends.
pub(super) fn line(bytes: &[u8], at: usize) -> Result<Option<(&[u8], usize)>, MalformedResp> {
    let rest = &bytes[at..];
    let prefix = &rest[..rest.len().min(LINE_LEN_MAX)];
    match memchr::memchr(b'\n', prefix) {
        Some(end) => {
            let line = rest[..end].strip_suffix(b"\r").ok_or(MalformedResp)?;
            Ok(Some((line, at + end + 1)))
        }
        None if rest.len() > LINE_LEN_MAX => Err(MalformedResp),
        None => Ok(None),
    }
}

/// The text or number that begins at an offset, and where it ends.
pub(super) fn text(bytes: &[u8], at: usize) -> Result<Option<(&[u8], usize)>, MalformedResp> {
    let Some((line, begin)) = line(bytes, at)? else {
        return Ok(None);
    };
    match line.split_first() {
        Some((b'$', len)) => {
            let Some(len) = number(len)? else {
                return Ok(Some((b"", begin)));
            };
            if len > TEXT_LEN_MAX {
                return Err(MalformedResp);
            }
            let end = begin + len;
            match bytes.get(end..end + 2) {
                Some(b"\r\n") => Ok(Some((&bytes[begin..end], end + 2))),
                Some(_) => Err(MalformedResp),
                None => Ok(None),
            }
        }
        Some((b'+' | b':', rest)) => Ok(Some((rest, begin))),
        _ => Err(MalformedResp),
    }
}

/// A length; `None` is nil (`-1`).
pub(super) fn number(text: &[u8]) -> Result<Option<usize>, MalformedResp> {
    if text == b"-1" {
        return Ok(None);
    }
    let is_number = !text.is_empty() && text.len() <= 12 && text.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(text).ok().filter(|_| is_number);
    text.and_then(|text| text.parse().ok())
        .map(Some)
        .ok_or(MalformedResp)
}

/// Encodes a command.
pub(in crate::hub) fn command(words: &[&str]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len());
    for word in words {
        let _ = write!(bytes, "${}\r\n{word}\r\n", word.len());
    }
    bytes.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_counts_bytes() {
        assert_eq!(
            command(&["AUTH", "é"]),
            "*2\r\n$4\r\nAUTH\r\n$2\r\né\r\n".as_bytes()
        );
    }
}
