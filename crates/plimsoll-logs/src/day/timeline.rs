//! Requests by second, minute and hour.
//!
//! Hours are kept apart, so that a single line with a wrong year costs one hour of memory and not a century.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use super::kind::RequestKind;
use super::times;

/// Hours that are kept at most: 31 days.
const HOURS_MAX: usize = 31 * 24;
/// Seconds of an hour.
const HOUR_S: i64 = 3600;

/// One minute.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Minute {
    pub(super) by_kind: [u32; RequestKind::ALL.len()],
    /// Answers with a status of 500 and above.
    pub(super) server_errors: u32,
    /// Requests that came through to the service.
    pub(super) through: u32,
    pub(super) bytes: u64,
}

/// What a line adds to its minute.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimelineEntry {
    pub(super) kind: RequestKind,
    pub(super) is_server_error: bool,
    pub(super) is_through: bool,
    pub(super) bytes: u64,
    /// Response time, µs.
    pub(super) lasted_us: Option<u64>,
}

#[derive(Debug)]
struct Hour {
    seconds: [u32; 3600],
    minutes: [Minute; 60],
    times: Option<Histogram<u32>>,
}

/// Counts by second.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    indexes: BTreeMap<i64, usize>,
    hours: Vec<Hour>,
    /// Hour of the last line and its index.
    current: Option<(i64, usize)>,
    outside: u64,
}

/// A busiest stretch: its beginning, seconds since 1970, and requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Busiest {
    pub(super) at_s: i64,
    pub(super) requests: u64,
}

impl Timeline {
    /// Adds a request that began at `at_ms`.
    pub(super) fn add(&mut self, at_ms: i64, entry: &TimelineEntry) {
        let second = at_ms.div_euclid(1000);
        let number = second.div_euclid(HOUR_S);
        let index = match self.current {
            Some((current, index)) if current == number => index,
            _ => {
                let Some(index) = self.hour(number) else {
                    self.outside += 1;
                    return;
                };
                index
            }
        };
        let hour = &mut self.hours[index];
        let in_hour = usize::try_from(second.rem_euclid(HOUR_S)).unwrap_or(0);
        hour.seconds[in_hour] += 1;
        let minute = &mut hour.minutes[in_hour / 60];
        minute.by_kind[entry.kind as usize] += 1;
        minute.server_errors += u32::from(entry.is_server_error);
        minute.through += u32::from(entry.is_through);
        minute.bytes = minute.bytes.saturating_add(entry.bytes);
        if let Some(us) = entry.lasted_us {
            hour.times
                .get_or_insert_with(times::histogram_of_hour)
                .saturating_record(us);
        }
    }

    fn hour(&mut self, number: i64) -> Option<usize> {
        let index = match self.indexes.get(&number) {
            Some(index) => *index,
            None if self.hours.len() < HOURS_MAX => {
                self.hours.push(Hour {
                    seconds: [0; 3600],
                    minutes: [Minute::default(); 60],
                    times: None,
                });
                self.indexes.insert(number, self.hours.len() - 1);
                self.hours.len() - 1
            }
            None => return None,
        };
        self.current = Some((number, index));
        Some(index)
    }

    /// Requests in further hours than are kept.
    pub(super) fn outside(&self) -> u64 {
        self.outside
    }

    /// Minutes with requests in order, each with its beginning, seconds since 1970.
    pub(super) fn minutes(&self) -> impl Iterator<Item = (i64, &Minute)> {
        self.indexes.iter().flat_map(|(number, index)| {
            let minutes = self.hours[*index].minutes.iter();
            (0_i64..)
                .zip(minutes)
                .filter(|(_, minute)| minute.by_kind.iter().any(|count| *count > 0))
                .map(move |(at, minute)| (number * HOUR_S + at * 60, minute))
        })
    }

    /// Hours in order, each with its beginning, its requests and their response times.
    pub(super) fn hours(&self) -> impl Iterator<Item = (i64, u64, Option<&Histogram<u32>>)> {
        self.indexes.iter().map(|(number, index)| {
            let hour = &self.hours[*index];
            (
                number * HOUR_S,
                requests(&hour.seconds),
                hour.times.as_ref(),
            )
        })
    }

    /// The second with most requests.
    pub(super) fn busiest_second(&self) -> Option<Busiest> {
        self.busiest(1)
    }

    /// The minute of the clock with most requests.
    pub(super) fn busiest_minute(&self) -> Option<Busiest> {
        self.busiest(60)
    }

    /// The hour of the clock with most requests.
    pub(super) fn busiest_hour(&self) -> Option<Busiest> {
        self.busiest(3600)
    }

    fn busiest(&self, seconds: usize) -> Option<Busiest> {
        let mut busiest: Option<Busiest> = None;
        for (number, index) in &self.indexes {
            for (at, stretch) in (0_i64..).zip(self.hours[*index].seconds.chunks(seconds)) {
                let requests = requests(stretch);
                if busiest.is_none_or(|busiest| requests > busiest.requests) {
                    let at_s = number * HOUR_S + at * i64::try_from(seconds).unwrap_or(HOUR_S);
                    busiest = Some(Busiest { at_s, requests });
                }
            }
        }
        busiest
    }
}

fn requests(seconds: &[u32]) -> u64 {
    seconds.iter().map(|count| u64::from(*count)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: TimelineEntry = TimelineEntry {
        kind: RequestKind::Page,
        is_server_error: false,
        is_through: true,
        bytes: 100,
        lasted_us: Some(1500),
    };

    #[test]
    fn the_busiest_stretches_are_those_of_the_clock() {
        let mut timeline = Timeline::default();
        for (second, count) in [(3590, 5), (3599, 7), (3600, 3), (7300, 6), (7301, 6)] {
            for _ in 0..count {
                timeline.add(second * 1000 + 999, &ENTRY);
            }
        }
        let busiest = |at_s, requests| Some(Busiest { at_s, requests });
        assert_eq!(timeline.busiest_second(), busiest(3599, 7));
        assert_eq!(timeline.busiest_minute(), busiest(3540, 12));
        assert_eq!(timeline.busiest_hour(), busiest(0, 12));
        let minutes: Vec<(i64, u32)> = timeline
            .minutes()
            .map(|(at, minute)| (at, minute.by_kind[0]))
            .collect();
        assert_eq!(minutes, [(3540, 12), (3600, 3), (7260, 12)]);
        assert_eq!(timeline.hours().count(), 3);
    }

    #[test]
    fn moments_before_1970_and_far_away_are_counted_too() {
        let mut timeline = Timeline::default();
        for at_ms in [-1, 0, i64::MAX, i64::MIN, 1_795_348_800_000] {
            timeline.add(at_ms, &ENTRY);
        }
        let minutes: Vec<i64> = timeline.minutes().map(|(at, _)| at).collect();
        assert_eq!(minutes[1..4], [-60, 0, 1_795_348_800]);
        assert_eq!(timeline.outside(), 0);
        for day in 0..40 {
            for hour in 0..24 {
                timeline.add((day * 24 + hour) * 3_600_000, &ENTRY);
            }
        }
        assert!(timeline.outside() > 200 && timeline.hours().count() == HOURS_MAX);
    }
}
