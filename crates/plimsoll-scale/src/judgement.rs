//! How well a scaler scaled, whoever it is: from the demand and the supply of each second.
//!
//! The figures of elasticity are those of the SPEC Research Group (N. Herbst and others, *Ready for Rain? A View from SPEC
//! Research on the Future of Cloud Metrics*, SPEC-RG-2016-01). Beside them is what users had, and what it cost.

mod elasticity;
mod turns;

pub use elasticity::{Elasticity, elastic_speedup, elasticity};
pub use turns::Turns;

use crate::whole::{replicas, time};

/// Shortages that are kept at most: the longest.
const SHORTAGES_MAX: usize = 100;

/// What was demanded and supplied in each second; all of the same length.
#[derive(Clone, Copy, Debug)]
pub struct ScalerRecord<'a> {
    /// The fewest replicas whose load line is not below the rate.
    pub demand: &'a [u32],
    /// Replicas that answered.
    pub ready: &'a [u32],
    /// Replicas that were held: ready ones and those that started.
    pub held: &'a [u32],
    /// Requests that arrived, 1/s.
    pub offered: &'a [f64],
    /// Bad answers, 1/s, where they are known.
    pub bad: Option<&'a [f64]>,
}

/// A time in which fewer replicas answered than were needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// Its first second.
    pub from_s: u32,
    /// Time to capacity: until as many answered as were needed, s.
    pub lasting_s: u32,
    /// The most replicas that were missing.
    pub missing_max: u32,
    /// Whether the record ends before it does.
    pub is_open: bool,
}

/// The judgement of a scaler.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Elasticity.
    pub elasticity: Elasticity,
    /// Share of bad answers, 0 to 1; `None` where they are unknown.
    pub bad_share: Option<f64>,
    /// Bad answers.
    pub bad: Option<f64>,
    /// Hours that replicas were held.
    pub replica_hours: f64,
    /// Changes of the number of replicas.
    pub changes: u32,
    /// The most replicas that were needed.
    pub demand_max: u32,
    /// The most replicas that were held.
    pub held_max: u32,
    /// Times with too few replicas, in the order of time; the longest hundred.
    pub shortages: Vec<Shortage>,
    /// How many there were, with those that are not kept.
    pub shortages_count: usize,
    /// How often supply and demand turned.
    pub turns: Turns,
}

/// Judges a record; `None` where it is empty.
pub fn judge(record: &ScalerRecord<'_>) -> Option<Judgement> {
    let len = record.demand.len();
    if len == 0 || [record.ready.len(), record.held.len(), record.offered.len()] != [len; 3] {
        return None;
    }
    let held: f64 = record.held.iter().map(|count| f64::from(*count)).sum();
    let offered: f64 = record.offered.iter().sum();
    let bad = record.bad.map(|bad| bad.iter().sum::<f64>());
    let changes = record
        .held
        .windows(2)
        .filter(|pair| pair[0] != pair[1])
        .count();
    let (shortages, shortages_count) = shortages(record.demand, record.ready);
    Some(Judgement {
        elasticity: elasticity(record.demand, record.ready),
        bad_share: bad.map(|bad| if offered > 0.0 { bad / offered } else { 0.0 }),
        bad,
        replica_hours: held / 3600.0,
        changes: u32::try_from(changes).unwrap_or(u32::MAX),
        demand_max: record.demand.iter().copied().max().unwrap_or(0),
        held_max: record.held.iter().copied().max().unwrap_or(0),
        shortages,
        shortages_count,
        turns: Turns::of(record.demand, record.held),
    })
}

impl Judgement {
    /// The longest time to capacity, s; `None` where nothing was ever missing.
    pub fn time_to_capacity_s(&self) -> Option<u32> {
        self.shortages
            .iter()
            .map(|shortage| shortage.lasting_s)
            .max()
    }

    /// Whether it was fast enough, in a sentence without a full stop.
    pub fn shortage_sentence(&self) -> String {
        let longest = self
            .shortages
            .iter()
            .max_by_key(|shortage| shortage.lasting_s);
        let Some(longest) = longest else {
            return "there were always enough replicas".to_owned();
        };
        let often = match self.shortages_count {
            1 => "once".to_owned(),
            count => format!("{count} times"),
        };
        let open = if longest.is_open {
            ", and still at the end"
        } else {
            ""
        };
        format!(
            "{often} too few replicas; the longest time to capacity is {}, {} missing at most{open}",
            time(longest.lasting_s),
            replicas(longest.missing_max)
        )
    }

    /// Whether it oscillated, and how far it went beyond the demand, in a sentence without a full stop.
    pub fn oscillation_sentence(&self) -> String {
        self.turns.sentence(self.demand_max, self.held_max)
    }
}

/// The shortages that are kept, and how many there were.
fn shortages(demand: &[u32], ready: &[u32]) -> (Vec<Shortage>, usize) {
    let mut found: Vec<Shortage> = Vec::new();
    let mut open: Option<Shortage> = None;
    for (second, (demand, ready)) in (0_u32..).zip(demand.iter().zip(ready)) {
        let missing = demand.saturating_sub(*ready);
        match (open.take(), missing) {
            (None, 0) => {}
            (None, missing) => {
                open = Some(Shortage {
                    from_s: second,
                    lasting_s: 1,
                    missing_max: missing,
                    is_open: true,
                });
            }
            (Some(shortage), 0) => found.push(Shortage {
                is_open: false,
                ..shortage
            }),
            (Some(shortage), missing) => {
                open = Some(Shortage {
                    lasting_s: shortage.lasting_s + 1,
                    missing_max: shortage.missing_max.max(missing),
                    ..shortage
                });
            }
        }
    }
    found.extend(open);
    let count = found.len();
    if count > SHORTAGES_MAX {
        found.sort_by_key(|shortage| std::cmp::Reverse(shortage.lasting_s));
        found.truncate(SHORTAGES_MAX);
        found.sort_by_key(|shortage| shortage.from_s);
    }
    (found, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_shortages_count_and_the_longest_are_kept() {
        let demand: Vec<u32> = (0..500).map(|second| 1 + second % 2).collect();
        let ready = [1; 500];
        let offered = [100.0; 500];
        let judged = judge(&ScalerRecord {
            demand: &demand,
            ready: &ready,
            held: &ready,
            offered: &offered,
            bad: None,
        })
        .unwrap();
        assert_eq!(
            (judged.shortages.len(), judged.shortages_count),
            (SHORTAGES_MAX, 250)
        );
        let sentence = judged.shortage_sentence();
        assert!(
            sentence.starts_with("250 times too few replicas"),
            "{sentence}"
        );
    }

    #[test]
    fn times_to_capacity_and_sentences() {
        let demand = [2, 6, 6, 6, 6, 2, 2, 9];
        let ready = [2, 2, 2, 4, 6, 6, 2, 2];
        let offered = [100.0; 8];
        let bad = [0.0, 50.0, 50.0, 20.0, 0.0, 0.0, 0.0, 40.0];
        let record = ScalerRecord {
            demand: &demand,
            ready: &ready,
            held: &ready,
            offered: &offered,
            bad: Some(&bad),
        };
        let judged = judge(&record).unwrap();
        assert_eq!(judged.shortages.len(), 2);
        assert_eq!(
            (judged.shortages[0].from_s, judged.shortages[0].lasting_s),
            (1, 3)
        );
        assert!(judged.shortages[1].is_open && !judged.shortages[0].is_open);
        assert_eq!(judged.time_to_capacity_s(), Some(3));
        assert!((judged.bad_share.unwrap() - 0.2).abs() < 1e-9);
        assert!((judged.replica_hours - 26.0 / 3600.0).abs() < 1e-9);
        assert_eq!(
            judged.shortage_sentence(),
            "2 times too few replicas; the longest time to capacity is 3 s, 4 replicas missing at most"
        );
        let none = ScalerRecord {
            demand: &[],
            ready: &[],
            held: &[],
            offered: &[],
            bad: None,
        };
        assert_eq!(judge(&none), None);
    }
}
