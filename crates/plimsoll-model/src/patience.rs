//! Bands of patience: how long people wait before a service feels different to them, under names of their own.

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;

/// Bands of one plan at most.
pub const BANDS_MAX: usize = 20;
/// Characters of a name at most.
pub const NAME_LENGTH_MAX: usize = 40;

/// Answers within a time, and above the limit of the band before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatienceBand {
    /// As written.
    pub name: String,
    /// The longest response time that belongs to it, µs.
    pub within_us: u64,
}

/// Requests of one band.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BandCount {
    /// The band.
    pub band: PatienceBand,
    /// Good answers in it.
    pub requests: u64,
}

/// Requests by band.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatienceCounts {
    /// Every band, in the order of their limits.
    pub bands: Vec<BandCount>,
    /// Good answers above the last limit.
    pub longer: u64,
    /// Requests that failed.
    pub failed: u64,
}

impl PatienceCounts {
    /// The counts of good answers, and of failures; `bands` ascend. A response time in the bucket of a limit is within it.
    pub fn of(bands: &[PatienceBand], good: &Histogram, failed: u64) -> Self {
        let mut longer = good.count();
        let bands = bands.iter().map(|band| {
            let above = good.count_above(band.within_us).min(longer);
            BandCount {
                band: band.clone(),
                requests: std::mem::replace(&mut longer, above) - above,
            }
        });
        let bands = bands.collect();
        Self {
            bands,
            longer,
            failed,
        }
    }

    /// All requests.
    pub fn total(&self) -> u64 {
        let within: u64 = self.bands.iter().map(|count| count.requests).sum();
        within + self.longer + self.failed
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bands(limits: &[u64]) -> Vec<PatienceBand> {
        let band = |&within_us: &u64| PatienceBand {
            name: format!("within {within_us}"),
            within_us,
        };
        limits.iter().map(band).collect()
    }

    #[test]
    fn a_time_belongs_to_the_first_band_that_it_is_within() {
        let mut good = Histogram::new();
        for us in [50, 100, 101, 999, 1000, 1001, 2_000_000] {
            good.record(us, 1);
        }
        let counts = PatienceCounts::of(&bands(&[100, 1000, 1500]), &good, 4);
        let requests: Vec<u64> = counts.bands.iter().map(|count| count.requests).collect();
        assert_eq!(
            (requests, counts.longer, counts.failed),
            (vec![2, 3, 1], 1, 4)
        );
        assert_eq!(counts.total(), 11);
        assert_eq!(PatienceCounts::of(&[], &good, 0).longer, 7);
    }

    proptest! {
        #[test]
        fn every_request_is_in_one_band(
            times in prop::collection::vec(0..5_000_000_u64, 0..60),
            mut limits in prop::collection::vec(1..6_000_000_u64, 0..12),
        ) {
            limits.sort_unstable();
            let mut good = Histogram::new();
            for &us in &times {
                good.record(us, 1);
            }
            let counts = PatienceCounts::of(&bands(&limits), &good, 3);
            prop_assert_eq!(counts.total(), times.len() as u64 + 3);
        }
    }
}
