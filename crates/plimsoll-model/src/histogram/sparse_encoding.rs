//! Reads the counts of an HdrHistogram V2 encoding without the dense array that the library fills in between. A second has
//! several histograms of some hundred buckets, and the coordinator of a load reads those of a hundred workers every second.

use super::{SIGNIFICANT_DIGITS, SUB_BUCKETS, V2_HEAD_LEN, bucket_top};

/// Magic bytes of the plain V2 encoding.
const V2_PLAIN: [u8; 4] = [0x1c, 0x84, 0x93, 0x13];
/// Buckets of each power of two but the first two.
const HALF: u64 = SUB_BUCKETS / 2;
/// Buckets over all of 64 bits.
const BUCKETS_MAX: u64 = 55 * HALF;

/// The buckets of a plain encoding of three digits from 1 on, as (highest value, count), ascending, and the sum of the counts.
/// `None` where it has another form or is damaged: then the library reads it, or names what is wrong.
pub(super) fn buckets(plain: &[u8]) -> Option<(Vec<(u64, u64)>, u64)> {
    let (head, payload) = plain.split_at_checked(V2_HEAD_LEN)?;
    let mut payload = &payload[..payload_len(head)?.min(payload.len())];
    let (mut buckets, mut sum, mut index) = (Vec::new(), 0_u64, 0_u64);
    while !payload.is_empty() {
        let number = signed(variable_length(&mut payload)?);
        let step = match u64::try_from(number) {
            Ok(0) => 1,
            Ok(count) => {
                buckets.push((top_of(index)?, count));
                sum = sum.checked_add(count)?;
                1
            }
            // So many empty buckets.
            Err(_) => number.unsigned_abs(),
        };
        index = index.checked_add(step)?;
    }
    Some((buckets, sum))
}

/// Bytes of the counts behind this head; `None` where it is that of another form.
fn payload_len(head: &[u8]) -> Option<usize> {
    let word = |at: usize| {
        head.get(at..at + 4)?
            .try_into()
            .ok()
            .map(u32::from_be_bytes)
    };
    let long = |at: usize| {
        head.get(at..at + 8)?
            .try_into()
            .ok()
            .map(u64::from_be_bytes)
    };
    let is_known = head.starts_with(&V2_PLAIN)
        && word(8)? == 0
        && word(12)? == u32::from(SIGNIFICANT_DIGITS)
        && long(16)? == 1
        && long(32)? == 1_f64.to_bits();
    is_known
        .then(|| word(4))?
        .and_then(|len| usize::try_from(len).ok())
}

/// The highest value of the bucket at this place of a dense histogram.
fn top_of(index: u64) -> Option<u64> {
    if index >= BUCKETS_MAX {
        return None;
    }
    let value = if index < SUB_BUCKETS {
        index
    } else {
        (index % HALF + HALF) << (index / HALF - 1)
    };
    Some(bucket_top(value))
}

/// A number of one to nine bytes, the lowest first: seven bits in each, and a mark where another one follows; eight bits in the
/// ninth.
fn variable_length(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    let mut shift = 0;
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if shift == 56 {
            return Some(number | (u64::from(byte) << shift));
        }
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
        shift += 7;
    }
}

/// A number whose lowest bit is its sign.
fn signed(number: u64) -> i64 {
    let half = (number >> 1).cast_signed();
    if number & 1 == 1 { !half } else { half }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram as Dense;
    use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};
    use proptest::prelude::*;

    use super::*;
    use crate::histogram::Histogram;

    fn plain(dense: &Dense<u64>) -> Vec<u8> {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(dense, &mut bytes).unwrap();
        bytes
    }

    /// Values and counts of any length on the wire.
    fn recorded() -> impl Strategy<Value = Vec<(u64, u64)>> {
        let number =
            |bits: u32| (0..bits).prop_flat_map(|bits| 1_u64 << bits..=(2_u64 << bits) - 1);
        prop::collection::vec((number(50), number(50)), 0..200)
    }

    proptest! {
        #[test]
        fn it_reads_what_the_library_reads(recorded in recorded()) {
            let mut dense = Dense::<u64>::new_with_bounds(1, 1 << 51, SIGNIFICANT_DIGITS).unwrap();
            for (value, count) in recorded {
                dense.record_n(value, count).unwrap();
            }
            let bytes = plain(&dense);
            let read: Dense<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            let right = Histogram::from_dense(&read);
            let (buckets, sum) = buckets(&bytes).unwrap();
            prop_assert_eq!(sum, right.count());
            prop_assert_eq!(buckets.as_slice(), right.buckets());
        }

        #[test]
        fn damage_is_left_to_the_library(mut bytes in prop::collection::vec(any::<u8>(), 0..80), has_head in any::<bool>()) {
            if has_head {
                let head = plain(&Dense::<u64>::new_with_bounds(1, 2, SIGNIFICANT_DIGITS).unwrap());
                bytes = [&head[..V2_HEAD_LEN], &bytes].concat();
                bytes[4..8].copy_from_slice(&80_u32.to_be_bytes());
            }
            if let Some((buckets, sum)) = buckets(&bytes) {
                prop_assert!(buckets.is_sorted_by(|a, b| a.0 < b.0));
                prop_assert_eq!(buckets.iter().map(|bucket| bucket.1).sum::<u64>(), sum);
            }
        }
    }

    #[test]
    fn other_forms_are_left_to_the_library() {
        for (low, digits) in [(1_000, 3), (1, 2)] {
            let mut dense = Dense::<u64>::new_with_bounds(low, 1 << 30, digits).unwrap();
            dense.record_n(5_000_000, 3).unwrap();
            assert_eq!(buckets(&plain(&dense)), None);
        }
        assert_eq!(buckets(&[]), None);
    }

    #[test]
    fn the_highest_value_has_a_bucket() {
        assert_eq!(top_of(BUCKETS_MAX - 1), Some(u64::MAX));
        assert_eq!(top_of(BUCKETS_MAX), None);
        assert_eq!(top_of(SUB_BUCKETS), Some(2049));
    }
}
