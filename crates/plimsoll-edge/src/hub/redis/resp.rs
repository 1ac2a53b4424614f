//! Parser of what Redis sends to a subscriber (RESP 2), as far as needed. Pure.

use std::fmt::Write as _;

/// Longest line, bytes.
const LINE_LEN_MAX: usize = 64 * 1024;
/// Longest text, bytes: longer than any message may be.
const TEXT_LEN_MAX: usize = 32 << 20;
/// Most elements of an array.
const ELEMENTS_MAX: usize = 16;

/// One reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RespReply<'a> {
    /// An error reply.
    Error(&'a [u8]),
    /// Several texts; a number as it is written, nil as an empty text.
    Array(Vec<&'a [u8]>),
    /// Anything else.
    Other,
}

/// Malformed data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MalformedResp;

/// The reply at the start of `bytes`, and its length; `None` while it is incomplete.
///
/// # Errors
/// When it is malformed, or longer than expected.
pub(super) fn read(bytes: &[u8]) -> Result<Option<(usize, RespReply<'_>)>, MalformedResp> {
    let Some((line, mut at)) = line(bytes, 0)? else {
        return Ok(None);
    };
    match line.split_first() {
        Some((b'-', error)) => Ok(Some((at, RespReply::Error(error)))),
        Some((b'+' | b':', _)) => Ok(Some((at, RespReply::Other))),
        Some((b'$', _)) => Ok(text(bytes, 0)?.map(|(_, end)| (end, RespReply::Other))),
        Some((b'*', count)) => {
            let count = number(count)?;
            if count.is_none_or(|count| count > ELEMENTS_MAX) {
                return Err(MalformedResp);
            }
            let mut elements = Vec::new();
            for _ in 0..count.unwrap_or_default() {
                let Some((element, end)) = text(bytes, at)? else {
                    return Ok(None);
                };
                elements.push(element);
                at = end;
            }
            Ok(Some((at, RespReply::Array(elements))))
        }
        _ => Err(MalformedResp),
    }
}

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
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_subscriber_is_told_is_understood() {
        let message =
            b"*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$6\r\ngame-1\r\n$4\r\n\r\n\r\n\r\n*3\r\n";
        let texts: Vec<&[u8]> = vec![b"pmessage", b"*", b"game-1", b"\r\n\r\n"];
        assert_eq!(
            read(message),
            Ok(Some((message.len() - 4, RespReply::Array(texts))))
        );
        for end in 0..message.len() - 4 {
            assert_eq!(read(&message[..end]), Ok(None), "{end}");
        }
        let subscribed = b"*3\r\n$10\r\npsubscribe\r\n$-1\r\n:1\r\n";
        let texts: Vec<&[u8]> = vec![b"psubscribe", b"", b"1"];
        assert_eq!(
            read(subscribed),
            Ok(Some((subscribed.len(), RespReply::Array(texts))))
        );
        let refused = read(b"-NOAUTH no\r\n");
        assert_eq!(refused, Ok(Some((12, RespReply::Error(b"NOAUTH no")))));
        assert_eq!(read(b"+OK\r\nx"), Ok(Some((5, RespReply::Other))));
        assert_eq!(read(b"$2\r\nab\r\n"), Ok(Some((8, RespReply::Other))));
        assert_eq!(
            command(&["AUTH", "é"]),
            "*2\r\n$4\r\nAUTH\r\n$2\r\né\r\n".as_bytes()
        );
    }

    #[test]
    fn what_redis_does_not_say_is_refused() {
        let long = vec![b'+'; 70_000];
        for bytes in [
            &b"HTTP/1.1 400\r\n"[..],
            b"*17\r\n",
            b"*-1\r\n",
            b"*1\r\n*1\r\n",
            b"$99999999999\r\n",
            b"*1\r\n$99999999999\r\n",
            b"$x\r\n",
            b"$1\r\nabc",
            b"+OK\n",
            b"\r\n",
            &long,
        ] {
            assert_eq!(
                read(bytes),
                Err(MalformedResp),
                "{}",
                String::from_utf8_lossy(bytes)
            );
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(
            prop_oneof![Just(b'*'), Just(b'$'), Just(b'\r'), Just(b'\n'), Just(b'1'), any::<u8>()], 0..60,
        )) {
            if let Ok(Some((len, _))) = read(&bytes) {
                prop_assert!(len <= bytes.len());
            }
        }
    }
}
