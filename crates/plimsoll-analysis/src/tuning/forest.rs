//! A forest of regression trees over settings, whose trees differ where little is known.
//!
//! Each tree is grown on a bootstrap sample (Breiman, Machine Learning 45, 2001), with a random part of the knobs at each
//! split and a random place between the two levels that a split separates: between trials the mean then changes gradually,
//! and the trees disagree (Hutter, Hoos, Leyton-Brown, Sequential model-based optimization, LION 2011). A split is a set of
//! levels, so numbers and choices are alike.

use plimsoll_model::seed::Seed;
use rand::{Rng, RngExt as _};

use super::space::{KnobSpace, Levels, Space};

/// Trees of a forest.
const TREES: usize = 100;
/// Samples of a leaf at least. With two, four in ten searches of the surfaces miss more of the best line: `docs/decisions/0502`.
const LEAF_MIN: usize = 1;
/// Of six knobs, five may be split at a node.
const KNOBS_TRIED: (usize, usize) = (5, 6);

/// A value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) levels: Levels,
    pub(super) value: f64,
}

/// What a forest says of a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Prediction {
    /// Mean of the trees.
    pub(super) mean: f64,
    /// Standard deviation between the trees.
    pub(super) deviation: f64,
}

/// A forest.
#[derive(Clone, Debug)]
pub(super) struct Forest {
    trees: Vec<Tree>,
}

/// A tree: its first node is the root.
#[derive(Clone, Debug)]
struct Tree {
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug)]
enum Node {
    Leaf(f64),
    Split {
        knob: usize,
        /// Levels that go left, as bits.
        left: u64,
        left_node: usize,
        right_node: usize,
    },
}

/// A place where the samples of a node can be separated.
#[derive(Clone, Copy, Debug)]
struct SplitPlace {
    knob: usize,
    left: u64,
    /// By how much it lessens the squared errors.
    gain: f64,
}

/// The samples of a node with a level of a knob.
#[derive(Clone, Copy, Debug)]
struct LevelSum {
    level: usize,
    count: usize,
    sum: f64,
}

impl Forest {
    /// A forest of `samples`; without any it predicts 0 everywhere.
    pub(super) fn fit(space: &Space, samples: &[Sample], seed: Seed) -> Self {
        let trees = (0_u64..)
            .take(TREES)
            .map(|index| Tree::grow(space, samples, seed.derive(index)))
            .collect();
        Self { trees }
    }

    pub(super) fn predict(&self, levels: &[usize]) -> Prediction {
        let (mut sum, mut squares) = (0.0, 0.0);
        for tree in &self.trees {
            let value = tree.predict(levels);
            sum += value;
            squares += value * value;
        }
        let count = self.trees.len() as f64;
        let mean = sum / count;
        Prediction {
            mean,
            deviation: (squares / count - mean * mean).max(0.0).sqrt(),
        }
    }

    /// The share of each knob in what the forest explains: by how much its squared errors grow when the levels of the knob
    /// are exchanged between the samples (Breiman 2001, section 10). All 0 when no knob matters.
    pub(super) fn importance(&self, space: &Space, samples: &[Sample], seed: Seed) -> Vec<f64> {
        const EXCHANGES: usize = 20;
        let errors = |exchanged: &[Sample]| -> f64 {
            exchanged
                .iter()
                .map(|sample| (sample.value - self.predict(&sample.levels).mean).powi(2))
                .sum()
        };
        let whole = errors(samples);
        let mut random = seed.generator();
        let grown: Vec<f64> = (0..space.knobs().len())
            .map(|knob| {
                let mut sum = 0.0;
                for _ in 0..EXCHANGES {
                    let mut exchanged = samples.to_vec();
                    for index in (1..exchanged.len()).rev() {
                        let other = random.random_range(0..=index);
                        let level = exchanged[index].levels[knob];
                        exchanged[index].levels[knob] = exchanged[other].levels[knob];
                        exchanged[other].levels[knob] = level;
                    }
                    sum += errors(&exchanged) - whole;
                }
                sum.max(0.0)
            })
            .collect();
        let total: f64 = grown.iter().sum();
        let share = |value: f64| if total > 0.0 { value / total } else { 0.0 };
        grown.into_iter().map(share).collect()
    }
}

impl Tree {
    fn grow(space: &Space, samples: &[Sample], seed: Seed) -> Self {
        let mut random = seed.generator();
        let drawn: Vec<&Sample> = (0..samples.len())
            .map(|_| &samples[random.random_range(0..samples.len())])
            .collect();
        let mut tree = Self { nodes: Vec::new() };
        tree.grow_node(space, drawn, &mut random);
        tree
    }

    /// Adds a node and all below it; its index. Each level halves at least once a knob's levels, so the depth is bounded by
    /// the number of samples.
    fn grow_node(&mut self, space: &Space, samples: Vec<&Sample>, random: &mut impl Rng) -> usize {
        let node = self.nodes.len();
        let sum: f64 = samples.iter().map(|sample| sample.value).sum();
        self.nodes
            .push(Node::Leaf(sum / samples.len().max(1) as f64));
        let Some(place) = best_place(space, &samples, random) else {
            return node;
        };
        let (left, right) = samples
            .into_iter()
            .partition(|sample| (place.left >> sample.levels[place.knob]) & 1 == 1);
        let left_node = self.grow_node(space, left, random);
        let right_node = self.grow_node(space, right, random);
        self.nodes[node] = Node::Split {
            knob: place.knob,
            left: place.left,
            left_node,
            right_node,
        };
        node
    }

    fn predict(&self, levels: &[usize]) -> f64 {
        let mut node = 0;
        loop {
            match self.nodes[node] {
                Node::Leaf(value) => return value,
                Node::Split {
                    knob,
                    left,
                    left_node,
                    right_node,
                } => {
                    let is_left = (left >> levels[knob]) & 1 == 1;
                    node = if is_left { left_node } else { right_node };
                }
            }
        }
    }
}

/// The place that lessens the squared errors most, of a random part of the knobs. `None` when no place does, or too few
/// samples would be on a side.
fn best_place(space: &Space, samples: &[&Sample], random: &mut impl Rng) -> Option<SplitPlace> {
    if samples.len() < 2 * LEAF_MIN {
        return None;
    }
    let knobs = space.knobs();
    let tried = (knobs.len() * KNOBS_TRIED.0).div_ceil(KNOBS_TRIED.1);
    let mut order: Vec<usize> = (0..knobs.len()).collect();
    let mut best: Option<SplitPlace> = None;
    for index in 0..tried {
        let other = random.random_range(index..order.len());
        order.swap(index, other);
        let knob = order[index];
        let place = place_of(knob, knobs[knob], samples, random);
        if let Some(place) = place
            && place.gain > best.map_or(1e-12, |best| best.gain)
        {
            best = Some(place);
        }
    }
    best
}

/// The best place of a knob.
fn place_of(
    knob: usize,
    space: KnobSpace,
    samples: &[&Sample],
    random: &mut impl Rng,
) -> Option<SplitPlace> {
    let sums = level_sums(knob, space, samples);
    let count: usize = samples.len();
    let total: f64 = sums.iter().map(|sum| sum.sum).sum();
    let (mut left_count, mut left_sum) = (0, 0.0);
    let mut best: Option<(usize, f64)> = None;
    for (index, level) in sums.iter().enumerate() {
        left_count += level.count;
        left_sum += level.sum;
        let right_count = count - left_count;
        if left_count < LEAF_MIN || right_count < LEAF_MIN {
            continue;
        }
        let right_sum = total - left_sum;
        let gain = left_sum * left_sum / left_count as f64
            + right_sum * right_sum / right_count as f64
            - total * total / count as f64;
        if best.is_none_or(|best| gain > best.1) {
            best = Some((index, gain));
        }
    }
    let (index, gain) = best?;
    let left = if space.is_ordered {
        // Between the last level on the left and the first on the right, anywhere.
        let cut = random.random_range(sums[index].level..sums[index + 1].level);
        u64::MAX >> (63 - cut)
    } else {
        choices_left(&sums, index, random)
    };
    Some(SplitPlace { knob, left, gain })
}

/// The samples by level: numbers ascending, choices by their mean.
fn level_sums(knob: usize, space: KnobSpace, samples: &[&Sample]) -> Vec<LevelSum> {
    let mut sums: Vec<LevelSum> = (0..space.levels)
        .map(|level| LevelSum {
            level,
            count: 0,
            sum: 0.0,
        })
        .collect();
    for sample in samples {
        let sum = &mut sums[sample.levels[knob]];
        sum.count += 1;
        sum.sum += sample.value;
    }
    sums.retain(|sum| sum.count > 0);
    if !space.is_ordered {
        let mean = |sum: &LevelSum| sum.sum / sum.count as f64;
        sums.sort_by(|a, b| mean(a).total_cmp(&mean(b)).then(a.level.cmp(&b.level)));
    }
    sums
}

/// The first choices up to `last`, and of those without a sample each by chance.
fn choices_left(sums: &[LevelSum], last: usize, random: &mut impl Rng) -> u64 {
    let mut left: u64 = random.random();
    for (index, sum) in sums.iter().enumerate() {
        let bit = 1_u64 << sum.level;
        if index <= last {
            left |= bit;
        } else {
            left &= !bit;
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use plimsoll_testkit::normal::standard_normal;

    use super::super::space::tests::{choice, ordered};
    use super::*;

    fn samples(
        space: &Space,
        count: usize,
        noise: f64,
        law: impl Fn(&[usize]) -> f64,
    ) -> Vec<Sample> {
        let mut random = Seed(5).generator();
        (0..count)
            .map(|_| {
                let levels = space.random(&mut random, &|_| true);
                let value = law(&levels) + noise * standard_normal(&mut random);
                Sample { levels, value }
            })
            .collect()
    }

    #[test]
    fn it_learns_steps_of_numbers_and_of_choices() {
        let space = Space::new(vec![ordered(8, 0), choice(4, 0), ordered(3, 0)]);
        let law = |levels: &[usize]| {
            f64::from(u8::from(levels[0] >= 4)) + 0.5 * f64::from(u8::from(levels[1] % 2 == 1))
        };
        let known = samples(&space, 200, 0.05, law);
        let forest = Forest::fit(&space, &known, Seed(1));
        for levels in [[1, 0, 0], [1, 1, 1], [6, 2, 2], [6, 3, 0]] {
            let predicted = forest.predict(&levels);
            assert!(
                (predicted.mean - law(&levels)).abs() < 0.12,
                "{levels:?}: {predicted:?}"
            );
        }
        let importance = forest.importance(&space, &known, Seed(2));
        assert!((importance.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        // Variances 1/4 and 1/16.
        assert!(
            (importance[0] - 0.8).abs() < 0.08 && importance[2] < 0.02,
            "{importance:?}"
        );
    }

    #[test]
    fn its_trees_disagree_where_nothing_was_measured() {
        let space = Space::new(vec![ordered(8, 0), ordered(8, 0)]);
        let known: Vec<Sample> = [
            [0, 0],
            [0, 1],
            [1, 0],
            [1, 1],
            [7, 7],
            [7, 6],
            [6, 7],
            [6, 6],
        ]
        .iter()
        .map(|levels| Sample {
            levels: levels.to_vec(),
            value: if levels[0] < 4 { 0.0 } else { 1.0 },
        })
        .collect();
        let forest = Forest::fit(&space, &known, Seed(1));
        let at = |levels: &[usize]| forest.predict(levels);
        assert!(at(&[0, 0]).deviation < at(&[4, 4]).deviation);
        assert!(at(&[0, 0]).mean < 0.1 && at(&[7, 7]).mean > 0.9);
        assert!((0.2..=0.8).contains(&at(&[4, 3]).mean));
    }

    #[test]
    fn without_differences_no_knob_matters() {
        let space = Space::new(vec![ordered(4, 0), choice(3, 0)]);
        let known = samples(&space, 30, 0.0, |_| 2.0);
        let forest = Forest::fit(&space, &known, Seed(1));
        assert!((forest.predict(&[3, 2]).mean - 2.0).abs() < 1e-9);
        assert_eq!(forest.importance(&space, &known, Seed(2)), [0.0, 0.0]);
        let empty = Forest::fit(&space, &[], Seed(1));
        assert!(empty.predict(&[0, 0]).mean.abs() < 1e-12);
    }

    #[test]
    fn a_seed_repeats_the_forest() {
        let space = Space::new(vec![ordered(8, 0), choice(4, 0)]);
        let known = samples(&space, 20, 0.1, |levels| levels[0] as f64);
        let of = |seed| Forest::fit(&space, &known, Seed(seed)).predict(&[3, 1]);
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }
}
