//! Parser of Redis replies (RESP 2) with nested lists. Pure.

use super::resp::{MalformedResp, line, number, text};

/// Maximum number of values of one reply.
const VALUES_MAX: usize = 100_000;
/// Maximum nesting depth of lists.
const DEPTH_MAX: usize = 6;

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::hub) enum RespValue {
    Nothing,
    Error(String),
    /// A text, or a number as it is written.
    Text(Vec<u8>),
    List(Vec<RespValue>),
}

impl RespValue {
    /// Its text, as bytes.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Text(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Its text, if it is valid UTF-8.
    pub(in crate::hub) fn text(&self) -> Option<&str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    pub(in crate::hub) fn number(&self) -> Option<u64> {
        self.text()?.parse().ok()
    }

    pub(in crate::hub) fn list(&self) -> Option<&[Self]> {
        match self {
            Self::List(values) => Some(values),
            _ => None,
        }
    }
}

/// Parser of replies. What was parsed is not parsed again, however small the pieces in which the rest arrives.
#[derive(Debug, Default)]
pub(super) struct ReplyParser {
    /// Values of the reply so far.
    count: usize,
    /// Open lists, the innermost last: how many values each lacks, and those it has.
    open: Vec<(usize, Vec<RespValue>)>,
}

impl ReplyParser {
    /// Continues a reply: how many bytes were parsed, and the reply once it is complete.
    ///
    /// # Errors
    /// When it is malformed, or larger than allowed.
    pub(super) fn go_on(
        &mut self,
        bytes: &[u8],
    ) -> Result<(usize, Option<RespValue>), MalformedResp> {
        let mut at = 0;
        while let Some((header, after)) = line(bytes, at)? {
            let (&kind, rest) = header.split_first().ok_or(MalformedResp)?;
            let (value, end) = match kind {
                b'-' => (RespValue::Error(lossy(rest)), after),
                b'*' | b'$' if rest == b"-1" => (RespValue::Nothing, after),
                b'*' => (RespValue::List(Vec::new()), after),
                _ => match text(bytes, at)? {
                    Some((text, end)) => (RespValue::Text(text.to_vec()), end),
                    None => break,
                },
            };
            at = end;
            self.count += 1;
            let room = VALUES_MAX.checked_sub(self.count).ok_or(MalformedResp)?;
            let len = match value {
                RespValue::List(_) => number(rest)?.unwrap_or_default(),
                _ => 0,
            };
            if len > 0 {
                if len > room || self.open.len() == DEPTH_MAX {
                    return Err(MalformedResp);
                }
                self.open.push((len, Vec::new()));
            } else if let Some(whole) = self.close(value) {
                self.count = 0;
                return Ok((at, Some(whole)));
            }
        }
        Ok((at, None))
    }

    /// Adds a value to the innermost list; the reply, if that completes it.
    fn close(&mut self, mut value: RespValue) -> Option<RespValue> {
        while let Some((lacking, mut values)) = self.open.pop() {
            values.push(value);
            if lacking > 1 {
                self.open.push((lacking - 1, values));
                return None;
            }
            value = RespValue::List(values);
        }
        Some(value)
    }
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> Result<(usize, Option<RespValue>), MalformedResp> {
        ReplyParser::default().go_on(bytes)
    }

    fn text(text: &str) -> RespValue {
        RespValue::Text(text.as_bytes().to_vec())
    }

    /// It is understood whatever follows, and incomplete until then.
    fn check(input: &[u8], expected: RespValue) {
        let more = [input, b"*3\r\n"].concat();
        assert_eq!(read(&more), Ok((input.len(), Some(expected))));
        for end in 0..input.len() {
            assert_eq!(read(&input[..end]).unwrap().1, None, "{end}");
        }
    }

    #[test]
    fn replies_are_understood() {
        let fields = RespValue::List(vec![text("d"), text("\r\n")]);
        let entry = RespValue::List(vec![text("7-0"), fields]);
        let stream = RespValue::List(vec![text("log"), RespValue::List(vec![entry])]);
        check(
            b"*1\r\n*2\r\n$3\r\nlog\r\n*1\r\n*2\r\n$3\r\n7-0\r\n*2\r\n$1\r\nd\r\n$2\r\n\r\n\r\n",
            RespValue::List(vec![stream]),
        );
        let message = ["pmessage", "*", "game-1", "\r\n\r\n"].map(text).to_vec();
        check(
            b"*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$6\r\ngame-1\r\n$4\r\n\r\n\r\n\r\n",
            RespValue::List(message),
        );
        check(
            b"*3\r\n$10\r\npsubscribe\r\n$-1\r\n:1\r\n",
            RespValue::List(vec![text("psubscribe"), RespValue::Nothing, text("1")]),
        );
        check(b"*0\r\n", RespValue::List(Vec::new()));
        check(b"*-1\r\n", RespValue::Nothing);
        check(b"$-1\r\n", RespValue::Nothing);
        check(b"+OK\r\n", text("OK"));
        check(
            b"-LIFE it is another\r\n",
            RespValue::Error("LIFE it is another".to_owned()),
        );
        assert_eq!(text("12").number(), Some(12));
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        let long = vec![b'+'; 70_000];
        let many = b":1\r\n".repeat(VALUES_MAX);
        let lists = [b"*50000\r\n*49000\r\n", &many[..]].concat();
        for bytes in [
            &b"*999999\r\n"[..],
            b"*100000\r\n",
            b"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
            b"$99999999999\r\n",
            b"*1\r\n$99999999999\r\n",
            b"$x\r\n",
            b"$1\r\nabc",
            b"+OK\n",
            b"HTTP/1.1 400\r\n",
            b"\r\n",
            &long,
            &[b"*99000\r\n*99000\r\n", &many[..]].concat(),
        ] {
            let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(40)]);
            assert_eq!(read(bytes), Err(MalformedResp), "{shown}");
        }
        assert!(read(&lists).unwrap().1.is_some());
    }

    proptest! {
        /// In whatever pieces a reply arrives, it is what it is as a whole.
        #[test]
        fn a_reply_in_pieces_is_that_in_one(bytes in proptest::collection::vec(
            proptest::sample::select(vec![
                "*2\r\n", "*0\r\n", "*-1\r\n", "$2\r\nab\r\n", "$-1\r\n", ":7\r\n", "-no\r\n", "?",
            ]), 0..12,
        ), piece in 1_usize..9) {
            let bytes = bytes.concat().into_bytes();
            let mut parser = ReplyParser::default();
            let mut in_pieces = Ok((0, None));
            let (mut taken, mut end) = (0, 0);
            while matches!(in_pieces, Ok((_, None))) && end < bytes.len() {
                end = (end + piece).min(bytes.len());
                in_pieces = parser.go_on(&bytes[taken..end]).map(|(len, value)| {
                    taken += len;
                    (taken, value)
                });
            }
            prop_assert_eq!(in_pieces, read(&bytes));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(
            prop_oneof![Just(b'*'), Just(b'$'), Just(b'\r'), Just(b'\n'), Just(b'1'), any::<u8>()], 0..60,
        )) {
            if let Ok((len, _)) = read(&bytes) {
                prop_assert!(len <= bytes.len());
            }
        }
    }
}
