//! `Range` (RFC 9110, 14): the requested part of a complete response.

use crate::fields::members;

/// The part of a body that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteRange {
    /// All of it: no valid range is requested, or several, which may be answered so.
    Whole,
    /// From the first to the last byte, both counted from 0 and inclusive.
    Bytes {
        /// The first.
        first: u64,
        /// The last.
        last: u64,
    },
    /// None of it: the range lies behind the end.
    Unsatisfiable,
}

impl ByteRange {
    /// Resolves a `Range` for a body of this length. A malformed field is ignored.
    pub fn of(range: &[u8], len: u64) -> Self {
        let Some(equals) = range.iter().position(|&byte| byte == b'=') else {
            return Self::Whole;
        };
        if !range[..equals].eq_ignore_ascii_case(b"bytes") {
            return Self::Whole;
        }
        let mut ranges = members(&range[equals + 1..]);
        match (ranges.next(), ranges.next()) {
            (Some(only), None) => single(only, len).unwrap_or(Self::Whole),
            _ => Self::Whole,
        }
    }
}

/// One range; `None` when it is invalid.
fn single(range: &[u8], len: u64) -> Option<ByteRange> {
    let dash = range.iter().position(|&byte| byte == b'-')?;
    let (first, last) = (&range[..dash], &range[dash + 1..]);
    if first.is_empty() {
        let wanted = position(last)?;
        if wanted == 0 || len == 0 {
            return Some(ByteRange::Unsatisfiable);
        }
        return Some(ByteRange::Bytes {
            first: len.saturating_sub(wanted),
            last: len - 1,
        });
    }
    let first = position(first)?;
    let last = match last {
        [] => u64::MAX,
        digits => position(digits)?,
    };
    if last < first {
        return None;
    }
    if first >= len {
        return Some(ByteRange::Unsatisfiable);
    }
    Some(ByteRange::Bytes {
        first,
        last: last.min(len - 1),
    })
}

/// A position, saturating.
fn position(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, &byte| {
        byte.is_ascii_digit().then(|| {
            number
                .saturating_mul(10)
                .saturating_add(u64::from(byte - b'0'))
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(range: &str, len: u64, expected: ByteRange) {
        assert_eq!(
            ByteRange::of(range.as_bytes(), len),
            expected,
            "{range} of {len}"
        );
    }

    #[test]
    fn ranges_are_those_of_the_standard() {
        let bytes = |first, last| ByteRange::Bytes { first, last };
        // RFC 9110, 14.1.2, for a body of 10,000 bytes.
        check("bytes=0-499", 10_000, bytes(0, 499));
        check("bytes=500-999", 10_000, bytes(500, 999));
        check("bytes=-500", 10_000, bytes(9_500, 9_999));
        check("bytes=9500-", 10_000, bytes(9_500, 9_999));
        check("Bytes=0-0", 10_000, bytes(0, 0));
        check("bytes=0-0,-1", 10_000, ByteRange::Whole);
        check("bytes=-20000", 10_000, bytes(0, 9_999));
        check(
            "bytes=9999-99999999999999999999999",
            10_000,
            bytes(9_999, 9_999),
        );
        check("bytes=10000-", 10_000, ByteRange::Unsatisfiable);
        check("bytes=-0", 10_000, ByteRange::Unsatisfiable);
        check("bytes=0-", 0, ByteRange::Unsatisfiable);
        check("bytes=-1", 0, ByteRange::Unsatisfiable);
        for invalid in [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=5-4",
            "bytes=a-b",
            "bytes= 1 - 2",
            "lines=1-2",
            "bytes=1",
            "bytes=--1",
            "bytes=+1-2",
        ] {
            check(invalid, 10_000, ByteRange::Whole);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn a_part_lies_within_its_body(range in "bytes=[0-9-,]{0,12}", len in 0_u64..2_000) {
            if let ByteRange::Bytes { first, last } = ByteRange::of(range.as_bytes(), len) {
                prop_assert!(first <= last && last < len);
            }
        }

        #[test]
        fn any_bytes_are_read(range: Vec<u8>, len: u64) {
            let _ = ByteRange::of(&range, len);
        }
    }
}
