//! The most frequent texts of a stream in bounded memory.
//!
//! Misra and Gries' counters with the eviction of Anderson and others ("A high-performance algorithm for identifying
//! frequent items in data streams", 2017): when all counters are taken, a typical counter's value is subtracted from all.
//! What was subtracted in all is the bound of the error.

use hashbrown::HashTable;

/// Bytes of texts that are stored at their first occurrence; beyond, only texts that come again are stored.
const EARLY_TEXTS_LEN: usize = 4 << 20;
/// From how many occurrences on such a text is stored.
const STORED_FROM: u32 = 16;
/// Bytes of all texts.
const TEXTS_LEN_MAX: usize = 16 << 20;
/// Longest text that is stored whole, bytes.
const TEXT_LEN_MAX: usize = 300;
/// Counters of which the typical value is taken.
const SAMPLED: usize = 1023;

/// Counts texts by their hashes.
#[derive(Debug)]
pub(super) struct Frequent {
    table: HashTable<Counter>,
    counters_max: usize,
    texts_len: usize,
    total: u64,
    error: u64,
}

#[derive(Debug)]
struct Counter {
    hash: u64,
    text: Option<Box<str>>,
    /// In 32 bits, so that a counter fits into half a line of the processor's cache.
    count: u32,
    class: u8,
}

/// A text and how often it occurred: between `count` and `count` plus the error of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FrequentItem {
    pub(super) count: u64,
    /// Absent if the memory for texts was used up.
    pub(super) text: Option<Box<str>>,
    /// As given with its first occurrence.
    pub(super) class: u8,
}

impl Frequent {
    /// A table of at most so many counters.
    pub(super) fn new(counters_max: usize) -> Self {
        Self {
            table: HashTable::new(),
            counters_max,
            texts_len: 0,
            total: 0,
            error: 0,
        }
    }

    /// Counts a text, given in two pieces, `times` times.
    pub(super) fn add(&mut self, hash: u64, text: [&str; 2], class: u8, times: u64) {
        self.total += times;
        let times = u32::try_from(times).unwrap_or(u32::MAX);
        if let Some(counter) = self.table.find_mut(hash, |counter| counter.hash == hash) {
            counter.count = counter.count.saturating_add(times);
            if counter.text.is_none() && counter.count >= STORED_FROM {
                counter.text = stored(text, &mut self.texts_len, TEXTS_LEN_MAX);
            }
            return;
        }
        if self.table.len() >= self.counters_max {
            self.evict();
        }
        let counter = Counter {
            hash,
            count: times,
            text: stored(text, &mut self.texts_len, EARLY_TEXTS_LEN),
            class,
        };
        self.table
            .insert_unique(hash, counter, |counter| counter.hash);
    }

    /// Subtracts the median of a sample from all counters: about half of them leave.
    fn evict(&mut self) {
        // The order of the table is that of the hashes, which is none.
        let mut counts: Vec<u32> = self
            .table
            .iter()
            .take(SAMPLED)
            .map(|counter| counter.count)
            .collect();
        let middle = counts.len() / 2;
        let (_, median, _) = counts.select_nth_unstable(middle);
        let median = *median;
        self.error += u64::from(median);
        let texts_len = &mut self.texts_len;
        self.table.retain(|counter| {
            counter.count = counter.count.saturating_sub(median);
            if counter.count == 0
                && let Some(text) = &counter.text
            {
                *texts_len -= text.len();
            }
            counter.count > 0
        });
    }

    /// Occurrences in all.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// By how much a count may be too low; 0 if all are exact.
    pub(super) fn error(&self) -> u64 {
        self.error
    }

    /// The `number` most frequent, most frequent first.
    pub(super) fn most_frequent(&self, number: usize) -> Vec<FrequentItem> {
        let mut counters: Vec<&Counter> = self.table.iter().collect();
        counters
            .sort_unstable_by(|a, b| (b.count, &a.text, a.hash).cmp(&(a.count, &b.text, b.hash)));
        let items = counters
            .into_iter()
            .take(number)
            .map(|counter| FrequentItem {
                count: counter.count.into(),
                text: counter.text.clone(),
                class: counter.class,
            });
        items.collect()
    }

    /// All that are still counted, most frequent first.
    pub(super) fn ranked(self) -> Vec<FrequentItem> {
        let mut counters: Vec<Counter> = self.table.into_iter().collect();
        counters
            .sort_unstable_by(|a, b| (b.count, &a.text, a.hash).cmp(&(a.count, &b.text, b.hash)));
        let items = counters.into_iter().map(|counter| FrequentItem {
            count: counter.count.into(),
            text: counter.text,
            class: counter.class,
        });
        items.collect()
    }
}

/// A text to be stored, shortened at a character if it is long, unless `texts_len` would exceed `len_max`.
fn stored(text: [&str; 2], texts_len: &mut usize, len_max: usize) -> Option<Box<str>> {
    let first = shortened(text[0], TEXT_LEN_MAX);
    let second = shortened(text[1], TEXT_LEN_MAX - first.len());
    let len = first.len() + second.len();
    if *texts_len + len > len_max {
        return None;
    }
    *texts_len += len;
    Some([first, second].concat().into())
}

fn shortened(text: &str, len_max: usize) -> &str {
    let mut end = text.len().min(len_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::hash::hash;
    use super::*;

    fn counted(stream: &[u16], counters_max: usize) -> (Frequent, BTreeMap<String, u64>) {
        let (mut frequent, mut exact) = (Frequent::new(counters_max), BTreeMap::new());
        for number in stream {
            let text = format!("/{number}");
            frequent.add(hash(text.as_bytes()), ["", &text], 0, 1);
            *exact.entry(text).or_default() += 1;
        }
        (frequent, exact)
    }

    proptest! {
        #[test]
        fn a_count_is_never_too_high_and_too_low_by_the_error_at_most(
            stream in prop::collection::vec(0_u16..400, 0..3000), counters_max in 8_usize..600,
        ) {
            let (frequent, exact) = counted(&stream, counters_max);
            let error = frequent.error();
            prop_assert_eq!(frequent.total(), stream.len() as u64);
            // Each eviction removes a count from about half of the counters.
            prop_assert!(error <= 4 * stream.len() as u64 / counters_max as u64 + 1);
            let items = frequent.ranked();
            prop_assert!(items.len() <= counters_max);
            for item in &items {
                let truth = exact[item.text.as_deref().unwrap()];
                prop_assert!(item.count <= truth && truth <= item.count + error);
            }
            for (text, truth) in &exact {
                let is_there = items.iter().any(|item| item.text.as_deref() == Some(text));
                prop_assert!(is_there || *truth <= error);
            }
            prop_assert!(items.is_sorted_by(|a, b| a.count >= b.count));
        }
    }

    #[test]
    fn memory_is_bounded_by_counters_and_texts() {
        let mut frequent = Frequent::new(50_000);
        let long = "ä".repeat(4000);
        for number in 0..300_000_u64 {
            let text = format!("/{number}{long}");
            frequent.add(hash(text.as_bytes()), ["", &text], 0, 1);
        }
        assert!(frequent.table.len() <= 50_000);
        assert!(frequent.texts_len <= TEXTS_LEN_MAX);
        let texts = frequent.table.iter().filter_map(|item| item.text.as_ref());
        assert_eq!(
            texts.map(|text| text.len()).sum::<usize>(),
            frequent.texts_len
        );
    }
}
