//! Pages requested per minute.

use std::collections::BTreeMap;

/// Most minutes stored: two years.
const MINUTES_MAX: usize = 2 * 366 * 1440;
/// Most phases that are written.
const PHASES_MAX: usize = 120;

/// Pages per minute since 1970.
#[derive(Debug, Default)]
pub(super) struct Rates {
    minutes: BTreeMap<i64, u64>,
    first_ms: Option<i64>,
    last_ms: Option<i64>,
    /// Requests outside the longest stored time.
    pub(super) beyond: u64,
}

/// A segment of equal length with its pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stretch {
    pub(super) pages: u64,
    pub(super) seconds: f64,
}

impl Rates {
    pub(super) fn add(&mut self, at_ms: i64) {
        let minute = at_ms.div_euclid(60_000);
        if self.minutes.len() >= MINUTES_MAX && !self.minutes.contains_key(&minute) {
            self.beyond += 1;
            return;
        }
        *self.minutes.entry(minute).or_default() += 1;
        self.first_ms = Some(self.first_ms.map_or(at_ms, |first| first.min(at_ms)));
        self.last_ms = Some(self.last_ms.map_or(at_ms, |last| last.max(at_ms)));
    }

    /// First and last moment, milliseconds since 1970.
    pub(super) fn span(&self) -> Option<(i64, i64)> {
        self.first_ms.zip(self.last_ms)
    }

    /// The hour with most pages: its start and end, milliseconds since 1970.
    pub(super) fn busiest_hour(&self) -> Option<(i64, i64)> {
        let mut best: Option<(u64, i64)> = None;
        let mut sum = 0;
        let mut trailing = self.minutes.iter();
        let mut next_trailing = trailing.next();
        for (&minute, &count) in &self.minutes {
            sum += count;
            while let Some((&old, &old_count)) = next_trailing
                && old <= minute - 60
            {
                sum -= old_count;
                next_trailing = trailing.next();
            }
            if best.is_none_or(|(most, _)| sum > most) {
                best = Some((sum, minute));
            }
        }
        let (_, last) = best?;
        let (first_ms, last_ms) = self.span()?;
        // An hour that would begin before the log starts with it.
        let start = ((last - 59) * 60_000).max(first_ms.div_euclid(60_000) * 60_000);
        Some((start, (start + 3_600_000).min(last_ms + 1_000)))
    }

    /// Segments from `from_ms` to `to_ms`, as few as still resolve minutes where that is possible.
    pub(super) fn stretches(&self, from_ms: i64, to_ms: i64) -> Vec<Stretch> {
        let first = from_ms.div_euclid(60_000);
        let minutes = usize::try_from(to_ms.div_euclid(60_000) - first + 1).unwrap_or(1);
        let each = [1, 2, 5, 10, 15, 30, 60, 120, 360, 1440]
            .into_iter()
            .find(|each| minutes.div_ceil(*each) <= PHASES_MAX)
            .unwrap_or_else(|| minutes.div_ceil(PHASES_MAX));
        let width = i64::try_from(each).unwrap_or(i64::MAX);
        let mut stretches = Vec::new();
        let mut start = first;
        while start * 60_000 <= to_ms {
            let end = start.saturating_add(width);
            let pages = self.minutes.range(start..end).map(|(_, count)| count).sum();
            let starts_ms = (start * 60_000).max(from_ms);
            let ends_ms = (end.saturating_mul(60_000)).min(to_ms + 1_000);
            let seconds = ((ends_ms - starts_ms) as f64 / 1e3).max(1.0);
            stretches.push(Stretch { pages, seconds });
            start = end;
        }
        stretches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_hour_is_found() {
        let mut rates = Rates::default();
        for minute in 0..300_i64 {
            let count = if (100..160).contains(&minute) { 5 } else { 2 };
            for second in 0..count {
                rates.add(minute * 60_000 + second * 1_000);
            }
        }
        assert_eq!(rates.busiest_hour(), Some((100 * 60_000, 160 * 60_000)));
        let stretches = rates.stretches(100 * 60_000, 160 * 60_000 - 1);
        assert_eq!(stretches.len(), 60);
        assert!(stretches.iter().all(|stretch| stretch.pages == 5));
        assert_eq!(rates.stretches(0, 299 * 60_000).len(), 60);
    }

    #[test]
    fn nothing_is_lost_between_stretches() {
        let mut rates = Rates::default();
        for number in 0..1000_i64 {
            rates.add(1_700_000_012_345 + number * 61_234);
        }
        let (first, last) = rates.span().unwrap();
        let sum: u64 = rates
            .stretches(first, last)
            .iter()
            .map(|stretch| stretch.pages)
            .sum();
        assert_eq!(sum, 1000);
    }
}
