//! Settings that may be better than the best: by the improvement that the forest expects of them.

use std::collections::BTreeSet;

use plimsoll_model::seed::Seed;
use rand::{Rng, RngExt as _};

use super::evidence::Evidence;
use super::forest::{Forest, Prediction, Sample};
use super::space::{Feasible, Levels, Space};
use crate::stats::exact::normal_cdf;
use crate::stats::order::quantile;

/// Settings of a round.
pub(super) const PROPOSED: usize = 4;
/// Random settings among the candidates.
const RANDOM: usize = 1000;
/// Mixtures of two of the best among the candidates.
const MIXED: usize = 200;
/// The best settings, of which neighbours and mixtures are candidates.
const TOP: usize = 5;
/// The trees' disagreement is taken to be at least this: trees also agree where none of them has a sample.
const DEVIATION_MIN: f64 = 0.08;
/// Of the values, this share is poor, ...
const POOR: f64 = 0.7;
/// ... and drawn towards the others, to this share of its distance: a tree splits where values differ most, and how poor a
/// poor setting is need not be known.
const POOR_DISTANCE: f64 = 0.3;
/// A candidate needs at least this chance that the service does not fail.
const SUCCESS_MIN: f64 = 0.5;

/// New settings of a round, the most promising first; fewer when the space has no more. None of them was tried, is
/// infeasible, or is likely to make the service fail.
pub(super) fn proposals(
    space: &Space,
    evidence: &Evidence,
    seed: Seed,
    feasible: Feasible<'_>,
) -> Vec<Levels> {
    let mut random = seed.derive(0).generator();
    let mut samples = focused(evidence.samples());
    let mut forest = Forest::fit(space, &samples, seed.derive(1));
    let ranked = evidence.ranked(&forest);
    let best = ranked.first().map_or(0.0, |first| first.1.max(0.0));
    let candidates = candidates(space, evidence, &ranked, &mut random, feasible);
    let mut candidates = likely(space, evidence, candidates, seed.derive(2));
    let mut chosen: Vec<Levels> = Vec::new();
    for label in (3_u64..).take(PROPOSED) {
        let Some(index) = most_promising(&forest, &candidates, best) else {
            break;
        };
        let (levels, _) = candidates.swap_remove(index);
        // The next is chosen as if this had carried what is expected of it, so that it lies elsewhere.
        samples.push(Sample {
            value: forest.predict(&levels).mean,
            levels: levels.clone(),
        });
        forest = Forest::fit(space, &samples, seed.derive(label));
        chosen.push(levels);
    }
    chosen
}

/// Samples whose poor values are drawn together.
fn focused(mut samples: Vec<Sample>) -> Vec<Sample> {
    let values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
    let good = quantile(&values, POOR).unwrap_or(0.0);
    for sample in &mut samples {
        let below = (good - sample.value).max(0.0);
        sample.value += (1.0 - POOR_DISTANCE) * below;
    }
    samples
}

/// Candidates that were not tried: neighbours of the best settings, mixtures of them, and random ones.
fn candidates(
    space: &Space,
    evidence: &Evidence,
    ranked: &[(Levels, f64)],
    random: &mut impl Rng,
    feasible: Feasible<'_>,
) -> BTreeSet<Levels> {
    let mut top: Vec<Levels> = ranked
        .iter()
        .take(TOP)
        .map(|(levels, _)| levels.clone())
        .collect();
    top.push(space.default_levels());
    let mut found: BTreeSet<Levels> = BTreeSet::new();
    for levels in &top {
        found.extend(space.neighbours(levels));
    }
    for _ in 0..MIXED {
        let (first, second) = (
            &top[random.random_range(0..top.len())],
            &top[random.random_range(0..top.len())],
        );
        let levels = first.iter().zip(second);
        found.insert(
            levels
                .map(|(a, b)| if random.random() { *a } else { *b })
                .collect(),
        );
    }
    found.retain(|levels| feasible(levels));
    for _ in 0..RANDOM {
        found.insert(space.random(random, feasible));
    }
    found.retain(|levels| !space.is_default(levels) && !evidence.is_settled(levels));
    found
}

/// Candidates with their chance of success, without those that are likely to fail.
fn likely(
    space: &Space,
    evidence: &Evidence,
    candidates: BTreeSet<Levels>,
    seed: Seed,
) -> Vec<(Levels, f64)> {
    if !evidence.has_failures() {
        return candidates.into_iter().map(|levels| (levels, 1.0)).collect();
    }
    let successes = Forest::fit(space, &evidence.successes(), seed);
    candidates
        .into_iter()
        .map(|levels| {
            let chance = successes.predict(&levels).mean;
            (levels, chance)
        })
        .filter(|(_, chance)| *chance >= SUCCESS_MIN)
        .collect()
}

/// Index of the candidate with the highest expected improvement.
fn most_promising(forest: &Forest, candidates: &[(Levels, f64)], best: f64) -> Option<usize> {
    let values = candidates
        .iter()
        .map(|(levels, chance)| chance * expected_improvement(forest.predict(levels), best));
    values
        .enumerate()
        .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
        .map(|(index, _)| index)
}

/// What a setting is expected to exceed the best by: E max(0, y − best) of a normal y (Jones, Schonlau and Welch, Journal
/// of Global Optimization 13, 1998).
fn expected_improvement(predicted: Prediction, best: f64) -> f64 {
    let deviation = predicted.deviation.max(DEVIATION_MIN);
    let z = (predicted.mean - best) / deviation;
    let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    deviation * (z * normal_cdf(z) + density)
}

#[cfg(test)]
mod tests {
    use super::super::observation::{Observation, Score};
    use super::super::space::tests::{choice, ordered};
    use super::*;

    fn observed(levels: &[usize], score: Score) -> Observation {
        Observation {
            levels: levels.to_vec(),
            score,
            ..Observation::default()
        }
    }

    #[test]
    fn improvements_of_a_normal_law() {
        let of = |mean, deviation| expected_improvement(Prediction { mean, deviation }, 1.0);
        // At the best, σ/√(2π); far above, the difference; far below, nothing.
        assert!((of(1.0, 0.1) - 0.1 * 0.398_942_28).abs() < 1e-8);
        assert!((of(2.0, 0.1) - 1.0).abs() < 1e-9);
        assert!(of(0.0, 0.1) < 1e-9);
        assert!(of(0.9, 0.3) > of(0.9, 0.1), "doubt is worth a trial");
    }

    #[test]
    fn poor_values_are_drawn_together_and_good_ones_stay() {
        let samples =
            [-2.0, -1.0, -0.5, -0.5, -0.2, -0.1, -0.1, 0.0, 0.1, 0.2, 0.2].map(|value| Sample {
                levels: Vec::new(),
                value,
            });
        let values: Vec<f64> = focused(samples.to_vec())
            .iter()
            .map(|it| it.value)
            .collect();
        let expected = [
            -0.6, -0.3, -0.15, -0.15, -0.06, -0.03, -0.03, 0.0, 0.1, 0.2, 0.2,
        ];
        for (value, expected) in values.iter().zip(expected) {
            assert!((value - expected).abs() < 1e-12, "{values:?}");
        }
        assert!(focused(Vec::new()).is_empty());
    }

    #[test]
    fn what_fails_is_not_proposed_again() {
        let space = Space::new(vec![ordered(8, 0), ordered(8, 0), choice(2, 0)]);
        let mut observations = Vec::new();
        for workers in 0..8 {
            for pool in [0, 3, 6] {
                let score = if workers >= 5 {
                    Score::Failed
                } else {
                    Score::Line(100.0 + 10.0 * workers as f64)
                };
                observations.push(observed(&[workers, pool, pool % 2], score));
            }
        }
        let all: Vec<&Observation> = observations.iter().collect();
        let evidence = Evidence::of(&space, &all);
        for seed in 0..10 {
            let proposed = proposals(&space, &evidence, Seed(seed), &|levels| levels[1] != 1);
            assert_eq!(proposed.len(), PROPOSED);
            let distinct: BTreeSet<&Levels> = proposed.iter().collect();
            assert_eq!(distinct.len(), PROPOSED);
            for levels in &proposed {
                assert!(levels[0] < 5 && levels[1] != 1, "{levels:?}");
                assert!(!evidence.is_settled(levels));
            }
        }
    }

    #[test]
    fn a_space_that_was_tried_has_no_proposals() {
        let space = Space::new(vec![choice(2, 0)]);
        let observations = [
            observed(&[0], Score::Line(1.0)),
            observed(&[1], Score::Line(2.0)),
        ];
        let all: Vec<&Observation> = observations.iter().collect();
        let evidence = Evidence::of(&space, &all);
        assert!(proposals(&space, &evidence, Seed(1), &|_| true).is_empty());
    }
}
