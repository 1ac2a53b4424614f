//! The first settings: what usually suffices, then spread over the space, each part of each knob's range once.
//!
//! Latin hypercube samples (`McKay`, Beckman and Conover, Technometrics 21, 1979; `BestConfig`'s divide-and-diverge, `SoCC`
//! 2017), and of several that whose two nearest settings are farthest apart (Johnson, Moore and Ylvisaker, Journal of
//! Statistical Planning and Inference 26, 1990).

use plimsoll_model::seed::Seed;
use rand::RngExt as _;

use super::advised::advised;
use super::space::{Feasible, Levels, Space};
use crate::experiment::order::random_order;

/// Settings of a sample, ...
const SAMPLED: usize = 11;
/// ... fewer where they would be more than this with those that are advised: three blocks.
const SCREENED_MAX: usize = 12;
/// Samples of which the best spread is taken.
const SAMPLES: u64 = 50;
/// Settings of which the farthest replaces an infeasible or repeated setting.
const REPLACEMENTS: usize = 30;

/// The settings of the first round, without the default: those that are advised first, at most [`SCREENED_MAX`] together,
/// fewer where the space has fewer.
pub(super) fn screened(space: &Space, seed: Seed, feasible: Feasible<'_>) -> Vec<Levels> {
    let mut chosen = vec![space.default_levels()];
    chosen.extend(advised(space, feasible));
    let sampled = SAMPLED.min(SCREENED_MAX + 1 - chosen.len());
    let spread = |sample: &Vec<Levels>| {
        let all: Vec<&Levels> = sample.iter().chain(&chosen).collect();
        nearest_distance(space, &all)
    };
    let mut best: Option<(Vec<Levels>, f64)> = None;
    for index in 0..SAMPLES {
        let sample = latin(space, seed.derive(index), sampled);
        let distance = spread(&sample);
        if best.as_ref().is_none_or(|best| distance > best.1) {
            best = Some((sample, distance));
        }
    }
    let drawn = best.map(|best| best.0).unwrap_or_default();
    let mut random = seed.derive(SAMPLES).generator();
    for levels in drawn {
        if feasible(&levels) && !chosen.contains(&levels) {
            chosen.push(levels);
        } else {
            let others: Vec<Levels> = (0..REPLACEMENTS)
                .map(|_| space.random(&mut random, feasible))
                .collect();
            chosen.extend(farthest(space, &others, &chosen));
        }
    }
    chosen.remove(0);
    chosen
}

/// The setting of `candidates` whose nearest of `known` is farthest; `None` when all are known.
fn farthest(space: &Space, candidates: &[Levels], known: &[Levels]) -> Option<Levels> {
    let distance = |levels: &Levels| {
        let distances = known.iter().map(|other| space.distance(levels, other));
        distances.fold(f64::INFINITY, f64::min)
    };
    let unknown = candidates.iter().filter(|levels| !known.contains(levels));
    let all = unknown.map(|levels| (levels, distance(levels)));
    all.max_by(|a, b| a.1.total_cmp(&b.1).then_with(|| b.0.cmp(a.0)))
        .map(|(levels, _)| levels.clone())
}

/// A sample of so many settings in which each knob has each of as many equal parts of its range once.
fn latin(space: &Space, seed: Seed, count: usize) -> Vec<Levels> {
    let mut random = seed.generator();
    let mut sample = vec![Levels::new(); count];
    for (label, knob) in (0_u32..).zip(space.knobs()) {
        let parts = random_order(count, label, seed);
        for (levels, part) in sample.iter_mut().zip(parts) {
            let within = random.random_range(0..knob.levels);
            levels.push((part * knob.levels + within) / count);
        }
    }
    sample
}

fn nearest_distance(space: &Space, settings: &[&Levels]) -> f64 {
    let mut nearest = f64::INFINITY;
    for (index, first) in settings.iter().enumerate() {
        for second in &settings[index + 1..] {
            nearest = nearest.min(space.distance(first, second));
        }
    }
    nearest
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::space::tests::{choice, ordered};
    use super::*;

    #[test]
    fn each_level_of_each_knob_is_screened() {
        let space = Space::new(vec![
            ordered(4, 2),
            ordered(11, 0),
            choice(3, 0),
            choice(2, 1),
        ]);
        for seed in 0..20 {
            let settings = screened(&space, Seed(seed), &|_| true);
            assert_eq!(settings.len(), SAMPLED);
            for (index, knob) in space.knobs().iter().enumerate() {
                let levels: BTreeSet<usize> = settings.iter().map(|levels| levels[index]).collect();
                assert_eq!(levels.len(), knob.levels, "knob {index}");
            }
        }
    }

    #[test]
    fn neither_infeasible_nor_equal_settings_are_screened() {
        let space = Space::new(vec![ordered(8, 0); 5]);
        let feasible = |levels: &[usize]| levels[0] * levels[1] <= 6;
        for seed in 0..20 {
            let settings = screened(&space, Seed(seed), &feasible);
            let distinct: BTreeSet<&Levels> = settings.iter().collect();
            assert_eq!(distinct.len(), settings.len());
            assert!(settings.len() >= SAMPLED - 2, "{}", settings.len());
            assert!(
                settings
                    .iter()
                    .all(|levels| feasible(levels) && !space.is_default(levels))
            );
        }
    }

    #[test]
    fn what_usually_suffices_is_screened_first() {
        let mut knobs = vec![ordered(8, 0); 5];
        knobs[1].usual = Some(3);
        let space = Space::new(knobs);
        for seed in 0..20 {
            let settings = screened(&space, Seed(seed), &|_| true);
            assert_eq!(settings[..2], [vec![0, 3, 0, 0, 0], vec![0, 7, 0, 0, 0]]);
            assert_eq!(settings.len(), SCREENED_MAX);
        }
    }

    #[test]
    fn a_small_space_is_screened_whole() {
        let space = Space::new(vec![choice(2, 0), choice(2, 0)]);
        assert_eq!(screened(&space, Seed(1), &|_| true).len(), 3);
        let none = Space::new(vec![ordered(1, 0)]);
        assert!(screened(&none, Seed(1), &|_| true).is_empty());
    }
}
