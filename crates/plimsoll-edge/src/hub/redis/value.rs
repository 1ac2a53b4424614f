//! Parser of Redis replies (RESP 2) with nested lists. Pure.

use super::resp::{MalformedResp, line, number, text};

/// Maximum number of values of one reply.
const VALUES_MAX: usize = 100_000;
/// Maximum nesting depth of lists.
const DEPTH_MAX: u8 = 6;

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
    /// Its text, if it is valid UTF-8.
    pub(in crate::hub) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
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

/// Scan state of an incomplete reply. Scanned bytes are not scanned again, however small the pieces in which the rest
/// arrives.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Bytes scanned.
    at: usize,
    /// Values scanned.
    count: usize,
    /// Values still expected in each open list.
    open: Vec<usize>,
}

impl Scan {
    /// Continues the scan; returns the length once the reply is complete.
    ///
    /// # Errors
    /// When it is malformed, or larger than allowed.
    pub(super) fn go_on(&mut self, bytes: &[u8]) -> Result<Option<usize>, MalformedResp> {
        loop {
            let Some((header, after)) = line(bytes, self.at)? else {
                return Ok(None);
            };
            let (&kind, rest) = header.split_first().ok_or(MalformedResp)?;
            let mut opens = 0;
            let end = match kind {
                b'-' => after,
                b'*' => {
                    opens = number(rest)?.unwrap_or_default();
                    after
                }
                _ => match text(bytes, self.at)? {
                    Some((_, end)) => end,
                    None => return Ok(None),
                },
            };
            self.at = end;
            self.count += 1;
            if opens > VALUES_MAX.saturating_sub(self.count) {
                return Err(MalformedResp);
            }
            if opens > 0 {
                if self.open.len() >= usize::from(DEPTH_MAX) {
                    return Err(MalformedResp);
                }
                self.open.push(opens);
            } else if self.close() {
                return Ok(Some(self.at));
            }
        }
    }

    /// Counts a value; whether the reply is complete.
    fn close(&mut self) -> bool {
        while let Some(left) = self.open.last_mut() {
            *left -= 1;
            if *left > 0 {
                return false;
            }
            self.open.pop();
        }
        true
    }
}

/// The reply at the start of `bytes`, and its length; `None` while it is incomplete.
///
/// # Errors
/// When it is malformed, or larger than allowed.
pub(super) fn read(bytes: &[u8]) -> Result<Option<(usize, RespValue)>, MalformedResp> {
    let mut left = VALUES_MAX;
    let read = read_at(bytes, 0, DEPTH_MAX, &mut left)?;
    Ok(read.map(|(value, end)| (end, value)))
}

fn read_at(
    bytes: &[u8],
    at: usize,
    depth: u8,
    left: &mut usize,
) -> Result<Option<(RespValue, usize)>, MalformedResp> {
    *left = left.checked_sub(1).ok_or(MalformedResp)?;
    let Some((header, after)) = line(bytes, at)? else {
        return Ok(None);
    };
    let (&kind, rest) = header.split_first().ok_or(MalformedResp)?;
    match kind {
        b'-' => {
            let error = String::from_utf8_lossy(rest).into_owned();
            Ok(Some((RespValue::Error(error), after)))
        }
        b'$' if rest == b"-1" => Ok(Some((RespValue::Nothing, after))),
        b'*' => {
            let Some(count) = number(rest)? else {
                return Ok(Some((RespValue::Nothing, after)));
            };
            let depth = depth.checked_sub(1).ok_or(MalformedResp)?;
            if count > *left {
                return Err(MalformedResp);
            }
            let (mut values, mut end) = (Vec::new(), after);
            for _ in 0..count {
                let Some((value, next)) = read_at(bytes, end, depth, left)? else {
                    return Ok(None);
                };
                values.push(value);
                end = next;
            }
            Ok(Some((RespValue::List(values), end)))
        }
        _ => Ok(text(bytes, at)?.map(|(text, end)| (RespValue::Text(text.to_vec()), end))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_piece_of_a_stream_is_understood() {
        let input = b"*1\r\n*2\r\n$3\r\nlog\r\n*1\r\n*2\r\n$3\r\n7-0\r\n*2\r\n$1\r\nd\r\n$2\r\n\r\n\r\n:3\r\n";
        let text = |text: &str| RespValue::Text(text.as_bytes().to_vec());
        let fields = RespValue::List(vec![text("d"), text("\r\n")]);
        let entry = RespValue::List(vec![text("7-0"), fields]);
        let expected = RespValue::List(vec![RespValue::List(vec![
            text("log"),
            RespValue::List(vec![entry]),
        ])]);
        assert_eq!(read(input), Ok(Some((input.len() - 4, expected))));
        for end in 0..input.len() - 4 {
            assert_eq!(read(&input[..end]), Ok(None), "{end}");
        }
        assert_eq!(read(b":12\r\n").unwrap().unwrap().1.number(), Some(12));
        assert_eq!(read(b"*-1\r\n"), Ok(Some((5, RespValue::Nothing))));
        assert_eq!(read(b"$-1\r\n"), Ok(Some((5, RespValue::Nothing))));
        let error = RespValue::Error("LIFE it is another".to_owned());
        assert_eq!(read(b"-LIFE it is another\r\n"), Ok(Some((21, error))));
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for bytes in [
            &b"*999999\r\n"[..],
            b"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
            b"$99999999999\r\n",
            b"HTTP/1.1 400\r\n",
            b"\r\n",
        ] {
            let shown = String::from_utf8_lossy(bytes);
            assert_eq!(read(bytes), Err(MalformedResp), "{shown}");
        }
    }

    proptest! {
        /// In whatever pieces a reply arrives, it is complete exactly when it can be parsed.
        #[test]
        fn an_answer_in_pieces_is_whole_when_it_can_be_read(bytes in proptest::collection::vec(
            proptest::sample::select(vec![
                "*2\r\n", "*0\r\n", "*-1\r\n", "$2\r\nab\r\n", "$-1\r\n", ":7\r\n", "-no\r\n", "?",
            ]), 0..12,
        ), piece in 1_usize..9) {
            let bytes = bytes.concat().into_bytes();
            let mut scan = Scan::default();
            let mut scanned = Ok(None);
            let mut end = 0;
            while scanned == Ok(None) && end < bytes.len() {
                end = (end + piece).min(bytes.len());
                scanned = scan.go_on(&bytes[..end]);
            }
            match read(&bytes) {
                Ok(read) => prop_assert_eq!(scanned, Ok(read.map(|(len, _)| len))),
                // What is rejected later is accepted now, except for its depth.
                Err(_) => prop_assert!(scanned != Ok(None)),
            }
        }

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
