//! The settings that a search may choose from: one level for each knob.

use plimsoll_model::seed::Seed;
use rand::{Rng, RngExt as _};

use crate::experiment::order::random_order;

/// Knobs at most.
pub const KNOBS_MAX: usize = 16;
/// Levels of a knob at most: a split of a tree is a set of levels in 64 bits.
pub const LEVELS_MAX: usize = 64;
/// Times that a random setting is drawn before an infeasible one is mended.
const DRAWS: usize = 8;

/// A setting: the index of the level of each knob, in the order of the knobs.
pub type Levels = Vec<usize>;

/// What the constraints allow.
pub(super) type Feasible<'a> = &'a dyn Fn(&[usize]) -> bool;

/// The levels of a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnobSpace {
    /// Number of levels.
    pub levels: usize,
    /// Whether neighbouring levels are alike: numbers ascending; otherwise a list of choices.
    pub is_ordered: bool,
    /// Index of the level that stands today.
    pub default: usize,
    /// Index of a level that usually suffices, where it is known: it is among the first that are tried.
    pub usual: Option<usize>,
}

/// All settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    knobs: Vec<KnobSpace>,
}

impl Space {
    /// A space of these knobs.
    ///
    /// # Panics
    /// When there are more than [`KNOBS_MAX`] knobs, a knob has no level or more than [`LEVELS_MAX`], or its default or
    /// what usually suffices is no level of it.
    pub fn new(knobs: Vec<KnobSpace>) -> Self {
        assert!(knobs.len() <= KNOBS_MAX, "{} knobs", knobs.len());
        for knob in &knobs {
            assert!(
                (1..=LEVELS_MAX).contains(&knob.levels)
                    && knob.default.max(knob.usual.unwrap_or(0)) < knob.levels,
                "{knob:?}"
            );
        }
        Self { knobs }
    }

    /// Its knobs.
    pub fn knobs(&self) -> &[KnobSpace] {
        &self.knobs
    }

    /// The setting that stands today.
    pub fn default_levels(&self) -> Levels {
        self.knobs.iter().map(|knob| knob.default).collect()
    }

    /// Whether this is the setting that stands today.
    pub(super) fn is_default(&self, levels: &[usize]) -> bool {
        self.knobs
            .iter()
            .zip(levels)
            .all(|(knob, level)| knob.default == *level)
    }

    /// The knobs whose level is not the default.
    pub(super) fn changed(&self, levels: &[usize]) -> Vec<usize> {
        let knobs = self.knobs.iter().zip(levels).enumerate();
        knobs
            .filter(|(_, (knob, level))| knob.default != **level)
            .map(|(index, _)| index)
            .collect()
    }

    /// A setting with these knobs at the default again.
    pub(super) fn reverted(&self, levels: &[usize], knobs: &[usize]) -> Levels {
        let mut reverted = levels.to_vec();
        for &knob in knobs {
            reverted[knob] = self.knobs[knob].default;
        }
        reverted
    }

    /// `base` with each of these knobs at its level, or as near to it as the constraints allow: a level that they exclude gives way to
    /// the next one towards that of `base`. Knobs come in this order.
    pub(super) fn toward(
        &self,
        base: &[usize],
        wanted: &[(usize, usize)],
        feasible: Feasible<'_>,
    ) -> Levels {
        let mut levels = base.to_vec();
        for &(knob, level) in wanted {
            let from = levels[knob];
            let steps: Vec<usize> = match self.knobs[knob].is_ordered {
                true if level > from => (from + 1..=level).rev().collect(),
                true => (level..from).collect(),
                false => vec![level],
            };
            let is_feasible = |step: &usize| {
                let mut changed = levels.clone();
                changed[knob] = *step;
                feasible(&changed)
            };
            levels[knob] = steps.into_iter().find(is_feasible).unwrap_or(from);
        }
        levels
    }

    /// How far two settings are from each other: for each knob at most 1.
    pub(super) fn distance(&self, first: &[usize], second: &[usize]) -> f64 {
        let levels = first.iter().zip(second);
        let distances = self.knobs.iter().zip(levels).map(|(knob, (a, b))| {
            if knob.is_ordered && knob.levels > 1 {
                a.abs_diff(*b) as f64 / (knob.levels - 1) as f64
            } else {
                f64::from(u8::from(a != b))
            }
        });
        distances.sum()
    }

    /// All settings that differ in the level of exactly one knob.
    pub(super) fn neighbours(&self, levels: &[usize]) -> Vec<Levels> {
        let mut neighbours = Vec::new();
        for (index, knob) in self.knobs.iter().enumerate() {
            for level in (0..knob.levels).filter(|level| *level != levels[index]) {
                let mut neighbour = levels.to_vec();
                neighbour[index] = level;
                neighbours.push(neighbour);
            }
        }
        neighbours
    }

    /// A random setting that the constraints allow. Where few are allowed, a random one whose knobs go back to the default
    /// one after the other until it is.
    pub(super) fn random(&self, random: &mut impl Rng, feasible: Feasible<'_>) -> Levels {
        let mut levels = Levels::new();
        for _ in 0..DRAWS {
            levels = self
                .knobs
                .iter()
                .map(|knob| random.random_range(0..knob.levels))
                .collect();
            if feasible(&levels) {
                return levels;
            }
        }
        self.mended(&levels, Seed(random.random()), feasible)
    }

    /// A setting whose knobs go back to the default in a random order until the constraints allow it.
    pub(super) fn mended(&self, levels: &[usize], seed: Seed, feasible: Feasible<'_>) -> Levels {
        let mut mended = levels.to_vec();
        for knob in random_order(self.knobs.len(), 0, seed) {
            if feasible(&mended) {
                break;
            }
            mended[knob] = self.knobs[knob].default;
        }
        mended
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::tuning) fn ordered(levels: usize, default: usize) -> KnobSpace {
        KnobSpace {
            levels,
            is_ordered: true,
            default,
            usual: None,
        }
    }

    pub(in crate::tuning) fn choice(levels: usize, default: usize) -> KnobSpace {
        KnobSpace {
            levels,
            is_ordered: false,
            default,
            usual: None,
        }
    }

    #[test]
    fn neighbours_differ_in_a_single_knob() {
        let space = Space::new(vec![ordered(3, 0), choice(2, 1), ordered(4, 2)]);
        let neighbours = space.neighbours(&[0, 1, 2]);
        assert_eq!(neighbours.len(), 2 + 1 + 3);
        assert!(
            neighbours
                .iter()
                .all(|neighbour| space.changed(neighbour).len() == 1)
        );
    }

    #[test]
    fn distances_count_steps_of_numbers_and_changes_of_choices() {
        let space = Space::new(vec![ordered(5, 0), choice(4, 0)]);
        let distance = |a: &[usize], b: &[usize]| space.distance(a, b);
        assert!((distance(&[0, 0], &[1, 3]) - 1.25).abs() < 1e-12);
        assert!((distance(&[0, 1], &[4, 1]) - 1.0).abs() < 1e-12);
        assert!(distance(&[2, 2], &[2, 2]).abs() < 1e-12);
    }

    #[test]
    fn random_settings_keep_a_constraint_that_allows_few() {
        let space = Space::new(vec![ordered(8, 0); 6]);
        let feasible = |levels: &[usize]| levels.iter().sum::<usize>() <= 3;
        let mut random = Seed(1).generator();
        let settings: Vec<Levels> = (0..200)
            .map(|_| space.random(&mut random, &feasible))
            .collect();
        assert!(settings.iter().all(|levels| feasible(levels)));
        let others = settings.iter().filter(|levels| !space.is_default(levels));
        assert!(others.count() > 50, "not the default alone");
    }
}
