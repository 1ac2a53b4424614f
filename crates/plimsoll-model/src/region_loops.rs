//! How many event loops each worker has where regions carry different parts of a load.
//!
//! An event loop is the unit of which a load is made up: all of them carry equal parts. So a region that carries 60 % has
//! three of five loops, and its part is exact; nothing is rounded.

use std::fmt;

use crate::load_hosts::{RegionShare, WHOLE_PERMILLE};

/// Why loops cannot be dealt to workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegionLoopsError {
    /// Nobody carries the part of a region.
    Nobody {
        /// The region.
        region: String,
        /// Its part, in thousandths.
        permille: u32,
    },
    /// A worker is in no region with a part.
    NoShare {
        /// Its region.
        region: Option<String>,
    },
    /// The parts need more loops than a load may have.
    TooMany {
        /// So many.
        loops: u64,
        /// So many are possible.
        most: u32,
    },
}

impl fmt::Display for RegionLoopsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nobody { region, permille } => write!(
                formatter,
                "no worker is in the region {region}, which carries {} % of the load; start one there, or change the shares",
                f64::from(*permille) / 10.0
            ),
            Self::NoShare {
                region: Some(region),
            } => write!(
                formatter,
                "a worker is in the region {region}, which has no share of the load; give it one"
            ),
            Self::NoShare { region: None } => write!(
                formatter,
                "a worker is in no region, and regions have shares of the load; name its region"
            ),
            Self::TooMany { loops, most } => write!(
                formatter,
                "the shares of the regions need {loops} event loops, at most {most} carry a load; give rounder shares, fewer \
                 workers or fewer --cores"
            ),
        }
    }
}

impl std::error::Error for RegionLoopsError {}

/// Loops of each worker, by the regions of all of them: as few as give each region exactly its part, and at least `each` for
/// every worker on average. Workers of one region have equally many, or one more.
///
/// # Errors
/// When a region has no worker, a worker no part, or there would be more than `most` loops.
pub fn loops_by_region(
    shares: &[RegionShare],
    regions: &[Option<&str>],
    each: u32,
    most: u32,
) -> Result<Vec<u32>, RegionLoopsError> {
    let in_region = |share: &RegionShare| {
        let workers = regions.iter();
        let own = workers.filter(|&&region| region == Some(share.region.as_str()));
        own.count() as u64
    };
    let share_of = |region: Option<&str>| {
        shares
            .iter()
            .find(|share| region == Some(share.region.as_str()))
    };
    if let Some(region) = regions.iter().find(|&&region| share_of(region).is_none()) {
        return Err(RegionLoopsError::NoShare {
            region: region.map(str::to_owned),
        });
    }
    if let Some(share) = shares.iter().find(|share| in_region(share) == 0) {
        return Err(RegionLoopsError::Nobody {
            region: share.region.clone(),
            permille: share.permille,
        });
    }
    let divisor = shares.iter().fold(WHOLE_PERMILLE, |divisor, share| {
        gcd(divisor, share.permille)
    });
    let unit = |share: &RegionShare| u64::from(share.permille / divisor.max(1));
    let units: u64 = shares.iter().map(unit).sum();
    let wanted = u64::from(each) * regions.len() as u64;
    let for_all = wanted.div_ceil(units.max(1));
    let for_each = shares
        .iter()
        .map(|share| in_region(share).div_ceil(unit(share).max(1)));
    let times = for_each.max().unwrap_or(1).max(for_all).max(1);
    if units * times > u64::from(most) {
        return Err(RegionLoopsError::TooMany {
            loops: units * times,
            most,
        });
    }
    let mut loops = vec![0; regions.len()];
    for share in shares {
        let workers = in_region(share);
        let of_region = unit(share) * times;
        let mine = regions.iter().zip(&mut loops);
        let mine = mine.filter(|(region, _)| **region == Some(share.region.as_str()));
        for (turn, (_, loops)) in (0..).zip(mine) {
            let more = u64::from(turn < of_region % workers);
            // At most `most`.
            *loops = u32::try_from(of_region / workers + more).unwrap_or(most);
        }
    }
    Ok(loops)
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MOST: u32 = 1024;

    fn shares(of: &[(&str, u32)]) -> Vec<RegionShare> {
        let share = |&(region, permille): &(&str, u32)| RegionShare {
            region: region.to_owned(),
            permille,
        };
        of.iter().map(share).collect()
    }

    #[test]
    fn a_region_has_its_part_of_the_loops() {
        let shares = shares(&[("eu", 600), ("us", 400)]);
        let loops = |regions: &[&str], each| {
            let regions: Vec<Option<&str>> = regions.iter().copied().map(Some).collect();
            loops_by_region(&shares, &regions, each, MOST).unwrap()
        };
        assert_eq!(loops(&["eu", "us"], 1), [3, 2]);
        assert_eq!(loops(&["us", "eu", "eu"], 1), [2, 2, 1]);
        assert_eq!(loops(&["eu", "us"], 4), [6, 4]);
        // Three workers in a region with two of five loops need ten in all.
        assert_eq!(loops(&["eu", "us", "us", "us"], 1), [6, 2, 1, 1]);
    }

    #[test]
    fn what_cannot_be_carried_as_it_was_shared_is_refused() {
        let two = shares(&[("eu", 333), ("us", 667)]);
        let refused = |regions: &[Option<&str>], each| {
            loops_by_region(&two, regions, each, MOST)
                .unwrap_err()
                .to_string()
        };
        let nobody = refused(&[Some("eu")], 1);
        assert!(
            nobody.starts_with("no worker is in the region us, which carries 66.7 %"),
            "{nobody}"
        );
        let other = refused(&[Some("eu"), Some("asia")], 1);
        assert!(other.contains("region asia, which has no share"), "{other}");
        assert!(refused(&[None], 1).contains("in no region"));
        let many = refused(&[Some("eu"), Some("us")], 501);
        assert!(
            many.contains("need 2000 event loops, at most 1024"),
            "{many}"
        );
    }

    proptest! {
        #[test]
        fn parts_are_exact_and_everybody_has_one(
            cuts in prop::collection::btree_set(1_u32..50, 0..5),
            workers in prop::collection::vec(1_usize..4, 6),
            each in 1_u32..4,
        ) {
            // Shares in steps of 2 %.
            let mut edges: Vec<u32> = std::iter::once(0).chain(cuts).collect();
            edges.push(50);
            let named: Vec<String> = (1..edges.len()).map(|n| format!("r{n}")).collect();
            let of: Vec<(&str, u32)> = named
                .iter()
                .zip(edges.windows(2))
                .map(|(name, edge)| (name.as_str(), (edge[1] - edge[0]) * 20))
                .collect();
            let shares = shares(&of);
            let regions: Vec<Option<&str>> = named
                .iter()
                .zip(&workers)
                .flat_map(|(name, &count)| std::iter::repeat_n(Some(name.as_str()), count))
                .collect();
            let loops = loops_by_region(&shares, &regions, each, MOST).unwrap();
            let all: u32 = loops.iter().sum();
            prop_assert!(loops.iter().all(|&loops| loops >= 1));
            prop_assert!(all as usize >= regions.len() * each as usize);
            for share in &shares {
                let own = regions.iter().zip(&loops);
                let own: u32 = own
                    .filter(|(region, _)| **region == Some(share.region.as_str()))
                    .map(|(_, &loops)| loops)
                    .sum();
                prop_assert_eq!(own * WHOLE_PERMILLE, all * share.permille);
            }
        }
    }
}
