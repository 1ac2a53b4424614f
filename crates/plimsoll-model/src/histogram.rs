//! Latency counts at a resolution of three significant digits, stored sparsely.
//!
//! The hot path records into a dense `hdrhistogram::Histogram`; a closed window keeps only the buckets that
//! hold something, so a run of an hour stays small in memory. Buckets are those of HdrHistogram with
//! three digits and a lowest value of 1 µs, so counts of any two histograms add up exactly.

mod sparse_encoding;

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram as Dense;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Significant digits of every histogram: a relative error of at most 10⁻³.
pub const SIGNIFICANT_DIGITS: u8 = 3;

/// Number of sub-buckets that the significant digits need: the next power of two above 2 · 10 to the power of the digits.
const SUB_BUCKETS: u64 = (2 * 10_u64.pow(SIGNIFICANT_DIGITS as u32)).next_power_of_two();

/// Magic bytes of the compressed V2 encoding.
const V2_PACKED: [u8; 4] = [0x1c, 0x84, 0x93, 0x14];
/// Bytes of the plain V2 encoding before its counts.
const V2_HEAD_LEN: usize = 40;
/// Longest plain encoding, bytes: three digits over all of 64 bits are 57,344 buckets of nine bytes at most.
const ENCODED_LEN_MAX: u64 = 520 << 10;

/// Counts of durations in microseconds; each pair is (highest value of the bucket, count), ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    buckets: Vec<(u64, u64)>,
    count: u64,
}

/// Why a stored histogram cannot be read.
#[derive(Debug, Error)]
pub enum HistogramError {
    /// The text is not base64.
    #[error("histogram is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// The bytes are not an `HdrHistogram` V2 encoding.
    #[error("histogram is not an HdrHistogram V2 encoding: {0}")]
    Encoding(String),
}

/// Highest value that falls into the same bucket as `value_us`.
pub fn bucket_top(value_us: u64) -> u64 {
    let magnitude = 64 - (value_us | (SUB_BUCKETS - 1)).leading_zeros();
    let shift = magnitude - SUB_BUCKETS.trailing_zeros();
    value_us | ((1 << shift) - 1)
}

/// Value in the middle of the bucket whose highest value is `top_us`; used for means only.
fn bucket_middle(top_us: u64) -> f64 {
    let magnitude = 64 - (top_us | (SUB_BUCKETS - 1)).leading_zeros();
    let shift = magnitude - SUB_BUCKETS.trailing_zeros();
    top_us as f64 - ((1_u64 << shift) - 1) as f64 / 2.0
}

impl Histogram {
    /// A histogram without any counts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts of the recorded buckets of a dense histogram.
    pub fn from_dense<C: hdrhistogram::Counter>(dense: &Dense<C>) -> Self {
        let mut sparse = Self::new();
        for step in dense.iter_recorded() {
            let count = step.count_since_last_iteration();
            sparse
                .buckets
                .push((bucket_top(step.value_iterated_to()), count));
            sparse.count += count;
        }
        sparse
    }

    /// Adds `count` observations of `value_us`. For folding and tests; the hot path records densely.
    pub fn record(&mut self, value_us: u64, count: u64) {
        if count == 0 {
            return;
        }
        let top = bucket_top(value_us);
        match self.buckets.binary_search_by_key(&top, |bucket| bucket.0) {
            Ok(index) => self.buckets[index].1 += count,
            Err(index) => self.buckets.insert(index, (top, count)),
        }
        self.count += count;
    }

    /// Adds all counts of `other`. Exact, associative and commutative.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        let mut merged = Vec::with_capacity(self.buckets.len() + other.buckets.len());
        let (mut left, mut right) = (
            self.buckets.iter().peekable(),
            other.buckets.iter().peekable(),
        );
        while let (Some(&&a), Some(&&b)) = (left.peek(), right.peek()) {
            match a.0.cmp(&b.0) {
                std::cmp::Ordering::Less => merged.extend(left.next()),
                std::cmp::Ordering::Greater => merged.extend(right.next()),
                std::cmp::Ordering::Equal => {
                    merged.push((a.0, a.1 + b.1));
                    left.next();
                    right.next();
                }
            }
        }
        merged.extend(left);
        merged.extend(right);
        self.buckets = merged;
        self.count += other.count;
    }

    /// Takes away the counts of `other`, whose observations are all in this histogram; what is not is ignored.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let mut taken = other.buckets.iter().peekable();
        let mut rest = Self::new();
        for &(top, count) in &self.buckets {
            while taken.next_if(|bucket| bucket.0 < top).is_some() {}
            let same = taken.next_if(|bucket| bucket.0 == top);
            let left = count.saturating_sub(same.map_or(0, |bucket| bucket.1));
            if left > 0 {
                rest.buckets.push((top, left));
                rest.count += left;
            }
        }
        rest
    }

    /// Number of observations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Recorded buckets as (highest value in µs, count), ascending.
    pub fn buckets(&self) -> &[(u64, u64)] {
        &self.buckets
    }

    /// Smallest recorded bucket value in µs with at least a share `quantile` (0 to 1) of observations at or
    /// below it; `None` without observations.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rank lies within 1..=count"
        )]
        let rank = ((quantile * self.count as f64).ceil() as u64).clamp(1, self.count);
        let mut cumulative = 0;
        for &(top, count) in &self.buckets {
            cumulative += count;
            if cumulative >= rank {
                return Some(top);
            }
        }
        None
    }

    /// Observations above `bound_us`, at bucket resolution: a value in the bound's own bucket is not above it.
    pub fn count_above(&self, bound_us: u64) -> u64 {
        let top = bucket_top(bound_us);
        self.buckets
            .iter()
            .rev()
            .take_while(|bucket| bucket.0 > top)
            .map(|bucket| bucket.1)
            .sum()
    }

    /// Arithmetic mean in µs from bucket middles; `None` without observations.
    pub fn mean(&self) -> Option<f64> {
        let sum: f64 = self
            .buckets
            .iter()
            .map(|&(top, count)| bucket_middle(top) * count as f64)
            .sum();
        (self.count > 0).then(|| sum / self.count as f64)
    }

    /// Standard deviation in µs, of all observations (divided by n), from bucket middles; `None` without observations.
    pub fn standard_deviation(&self) -> Option<f64> {
        let mean = self.mean()?;
        let squares: f64 = self
            .buckets
            .iter()
            .map(|&(top, count)| (bucket_middle(top) - mean).powi(2) * count as f64)
            .sum();
        Some((squares / self.count as f64).sqrt())
    }

    /// Highest recorded bucket value in µs; `None` without observations.
    pub fn max(&self) -> Option<u64> {
        self.buckets.last().map(|bucket| bucket.0)
    }

    /// The standard HdrHistogram V2 compressed encoding as base64 text (it starts with `HIST`).
    pub fn to_v2_base64(&self) -> String {
        let highest = self.max().unwrap_or(2).max(2);
        let mut dense = Dense::<u64>::new_with_bounds(1, highest, SIGNIFICANT_DIGITS)
            .expect("bounds of 1..=max with three digits are valid");
        for &(top, count) in &self.buckets {
            dense
                .record_n(top, count)
                .expect("value is at most the histogram's bound");
        }
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&dense, &mut bytes)
            .expect("writing to memory does not fail");
        STANDARD.encode(bytes)
    }

    /// Reads the encoding written by [`Histogram::to_v2_base64`] or by any other HdrHistogram library.
    ///
    /// # Errors
    /// When the text is not base64 or does not hold a V2 histogram.
    pub fn from_v2_base64(text: &str) -> Result<Self, HistogramError> {
        let bytes = STANDARD.decode(text)?;
        let plain = inflated(&bytes)?;
        if let Some((buckets, count)) = sparse_encoding::buckets(&plain) {
            return Ok(Self { buckets, count });
        }
        let dense: Dense<u64> = Deserializer::new()
            .deserialize(&mut plain.as_slice())
            .map_err(|error| HistogramError::Encoding(format!("{error:?}")))?;
        // Where the library's sum would overflow it stays there.
        if dense.len() == u64::MAX {
            return Err(HistogramError::Encoding(
                "its counts are too many to be added".to_owned(),
            ));
        }
        Ok(Self::from_dense(&dense))
    }
}

/// The decompressed form of an encoding, after a check that it does not exceed the memory of a histogram. The
/// library trusts the length (up to 4 GiB) and the range in the encoding's header before it reads a count.
fn inflated(bytes: &[u8]) -> Result<Vec<u8>, HistogramError> {
    let encoding_error = |what: &str| HistogramError::Encoding(what.to_owned());
    let mut plain = Vec::new();
    match bytes.split_at_checked(8) {
        Some((head, packed)) if head.starts_with(&V2_PACKED) => {
            ZlibDecoder::new(packed)
                .take(ENCODED_LEN_MAX + 1)
                .read_to_end(&mut plain)
                .map_err(|error| encoding_error(&error.to_string()))?;
        }
        _ => plain.extend_from_slice(bytes),
    }
    if plain.len() as u64 > ENCODED_LEN_MAX {
        return Err(encoding_error("it is longer than any histogram"));
    }
    let (head, counts) = plain
        .split_at_checked(V2_HEAD_LEN)
        .ok_or_else(|| encoding_error("it is cut off"))?;
    let word = |at: usize| {
        head[at..at + 4]
            .iter()
            .fold(0_u64, |word, &byte| word << 8 | u64::from(byte))
    };
    if word(4) > counts.len() as u64 {
        return Err(encoding_error("it is cut off"));
    }
    if word(12) > u64::from(SIGNIFICANT_DIGITS) {
        return Err(encoding_error("it has more than three significant digits"));
    }
    Ok(plain)
}

impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_empty() {
            serializer.serialize_str("")
        } else {
            serializer.serialize_str(&self.to_v2_base64())
        }
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        if text.is_empty() {
            return Ok(Self::new());
        }
        Self::from_v2_base64(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        for &value in values {
            histogram.record(value, 1);
        }
        histogram
    }

    /// An encoding that claims four gigabytes, one that unpacks to a hundred megabytes, and one with five digits.
    #[test]
    fn an_encoding_takes_no_more_memory_than_a_histogram() {
        let pack = |plain: &[u8]| {
            let mut packed =
                flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
            std::io::Write::write_all(&mut packed, plain).unwrap();
            let packed = packed.finish().unwrap();
            let len = u32::try_from(packed.len()).unwrap().to_be_bytes();
            STANDARD.encode([&V2_PACKED[..], &len, &packed].concat())
        };
        let head = |len: u32, digits: u32| {
            let mut head = vec![0x1c, 0x84, 0x93, 0x13];
            head.extend(len.to_be_bytes());
            head.extend(0_u32.to_be_bytes());
            head.extend(digits.to_be_bytes());
            head.extend(1_u64.to_be_bytes());
            head.extend(1_000_000_u64.to_be_bytes());
            head.extend(1_f64.to_be_bytes());
            head
        };
        for (plain, expected) in [
            (head(u32::MAX, 3), "cut off"),
            (vec![0; 100 << 20], "longer than any"),
            (head(0, 5), "significant digits"),
            (vec![0; 39], "cut off"),
        ] {
            let error = Histogram::from_v2_base64(&pack(&plain)).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
        assert!(
            Histogram::from_v2_base64(&pack(&head(0, 3)))
                .unwrap()
                .is_empty()
        );
    }

    fn value_us() -> impl Strategy<Value = u64> {
        (0_u32..36).prop_flat_map(|bits| 1_u64 << bits..=(2_u64 << bits) - 1)
    }

    proptest! {
        #[test]
        fn bucket_tops_are_those_of_hdrhistogram(value in value_us()) {
            let dense = Dense::<u64>::new_with_bounds(1, 1 << 37, SIGNIFICANT_DIGITS).unwrap();
            prop_assert_eq!(bucket_top(value), dense.highest_equivalent(value));
        }

        #[test]
        fn what_was_merged_can_be_taken_away(
            a in prop::collection::vec(value_us(), 0..50),
            b in prop::collection::vec(value_us(), 0..50),
        ) {
            let (a, b) = (histogram(&a), histogram(&b));
            let mut both = a.clone();
            both.merge(&b);
            prop_assert_eq!(both.without(&b), a.clone());
            prop_assert!(a.without(&both).is_empty());
        }

        #[test]
        fn merge_is_associative_and_commutative(
            a in prop::collection::vec(value_us(), 0..50),
            b in prop::collection::vec(value_us(), 0..50),
            c in prop::collection::vec(value_us(), 0..50),
        ) {
            let (a, b, c) = (histogram(&a), histogram(&b), histogram(&c));
            let mut left = a.clone();
            left.merge(&b);
            left.merge(&c);
            let mut right = c.clone();
            right.merge(&b);
            right.merge(&a);
            prop_assert_eq!(left, right);
        }

        #[test]
        fn encoding_round_trips(values in prop::collection::vec(value_us(), 1..100)) {
            let histogram = histogram(&values);
            prop_assert_eq!(Histogram::from_v2_base64(&histogram.to_v2_base64()).unwrap(), histogram);
        }

        #[test]
        fn quantiles_are_exact_to_the_bucket(mut values in prop::collection::vec(value_us(), 1..200), q in 0.0_f64..=1.0) {
            let counted = histogram(&values).quantile(q).unwrap();
            values.sort_unstable();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small test ranks")]
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            prop_assert_eq!(counted, bucket_top(values[rank - 1]));
        }
    }

    #[test]
    fn the_standard_cookie_opens_the_encoding() {
        // "HISTFAAA" is how every compressed V2 histogram begins in other languages' libraries.
        assert!(
            histogram(&[1, 500, 30_000_000])
                .to_v2_base64()
                .starts_with("HISTFAAA")
        );
    }

    #[test]
    fn deviation_is_that_of_all_observations() {
        let mut histogram = Histogram::new();
        assert_eq!(histogram.standard_deviation(), None);
        histogram.record(1000, 2);
        histogram.record(2000, 2);
        let deviation = histogram.standard_deviation().unwrap();
        assert!((deviation - 500.0).abs() < 1e-9, "{deviation}");
    }

    #[test]
    fn a_value_in_the_bounds_bucket_is_not_above_it() {
        let histogram = histogram(&[499_900, 500_000, 510_000]);
        assert_eq!(histogram.count_above(500_000), 1);
    }

    #[test]
    fn nothing_recorded_has_no_quantile() {
        assert_eq!(Histogram::new().quantile(0.5), None);
        assert_eq!(Histogram::new().mean(), None);
    }
}
