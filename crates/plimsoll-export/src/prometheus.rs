//! What remote write and the scrape page share: the labels of a series, and native histograms.

pub(crate) mod messages;
pub(crate) mod page;

use std::collections::BTreeMap;

use crate::definition;
use crate::exponential::{Exponential, SCHEMA};
use crate::record::{Point, RunLabels};
use messages::{BucketSpan, Histogram};

/// Durations below this are in the zero bucket, seconds: the resolution is 1 µs.
pub(crate) const ZERO_THRESHOLD_S: f64 = 5e-7;

/// Labels of a series by name, without the metric's name.
pub(crate) fn labels(point: &Point, run: &RunLabels) -> BTreeMap<String, String> {
    let of_point = point.labels.iter();
    let mut labels: BTreeMap<String, String> = of_point
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (definition::label(name), value.clone()))
        .collect();
    let shared = run.pairs();
    labels.extend(shared.map(|(name, value)| (name.to_owned(), value.to_owned())));
    labels
}

/// Spans and deltas of the buckets of a native histogram.
pub(crate) fn buckets(times: &Exponential) -> (Vec<BucketSpan>, Vec<i64>) {
    let (mut spans, mut deltas) = (Vec::new(), Vec::new());
    let (mut next, mut previous) = (0, 0_i64);
    for (first, counts) in times.spans() {
        let length = u32::try_from(counts.len()).unwrap_or(u32::MAX);
        spans.push(BucketSpan {
            offset: first - next,
            length,
        });
        next = first.saturating_add_unsigned(length);
        for count in counts {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            deltas.push(count - previous);
            previous = count;
        }
    }
    (spans, deltas)
}

/// A native histogram of remote write.
pub(crate) fn native(times: &Exponential, at_ms: i64) -> Histogram {
    let (positive_spans, positive_deltas) = buckets(times);
    Histogram {
        count: times.count,
        sum: times.sum_s,
        schema: SCHEMA,
        zero_threshold: ZERO_THRESHOLD_S,
        zero_count: Some(times.zero),
        positive_spans,
        positive_deltas,
        timestamp: at_ms,
    }
}

/// A time of Prometheus.
pub(crate) fn timestamp(at_ms: u64) -> i64 {
    i64::try_from(at_ms).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use plimsoll_model::histogram::Histogram as Recorded;

    use super::*;

    #[test]
    fn deltas_and_spans_give_the_counts_back() {
        let mut second = Recorded::new();
        for (us, count) in [(0, 2), (1_000, 5), (1_050, 3), (9_000, 7), (1_000_000, 1)] {
            second.record(us, count);
        }
        let mut times = Exponential::default();
        times.add(&second);
        let (spans, deltas) = buckets(&times);
        let (mut index, mut count, mut deltas) = (0, 0, deltas.into_iter());
        let mut back = BTreeMap::new();
        for span in spans {
            index += span.offset;
            for _ in 0..span.length {
                count += deltas.next().unwrap();
                back.insert(index, u64::try_from(count).unwrap());
                index += 1;
            }
        }
        assert_eq!(back, times.buckets);
        assert_eq!(deltas.next(), None);
    }
}
