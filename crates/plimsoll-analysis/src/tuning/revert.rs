//! Knobs that go back to the default because the winner carries as much without their change.
//!
//! The forest names the knobs whose change hardly matters; the winner without each of them is measured, and then without
//! all that cost less than 1 %, because two changes may each suffice alone.

use super::evidence::Evidence;
use super::forest::Forest;
use super::space::{Levels, Space};

/// A change that costs less of the load line, as a logarithm, goes back.
const COST_MAX: f64 = 0.01;
/// A change that costs more by the forest is not measured: it stays.
const COST_PREDICTED_MAX: f64 = 0.05;
/// Values of the winner without each change.
const VALUES_MIN: usize = 2;
/// Blocks without single changes at most.
const BLOCKS_MAX: usize = 2;
/// What the forest says of a cost weighs as much as this many values: it knows all trials, and two values differ by their
/// noise.
const FOREST_WEIGHT: f64 = 4.0;

/// The winner and its changes that may go back.
#[derive(Clone, Debug)]
pub(super) struct Reversion<'a> {
    space: &'a Space,
    winner: Levels,
    /// Knobs whose change hardly matters by the forest.
    knobs: Vec<usize>,
}

/// The knobs that go back together, each with the cost of its change as a logarithm.
pub(super) type Reverted = Vec<(usize, f64)>;

impl<'a> Reversion<'a> {
    /// Of the winner of the race, by the forest of all trials up to its end. The last change that is left cannot go back:
    /// that would be the default.
    pub(super) fn of(space: &'a Space, winner: &[usize], forest: &Forest) -> Self {
        let changed = space.changed(winner);
        let mut knobs = Vec::new();
        if changed.len() > 1 {
            knobs.extend(changed.into_iter().filter(|&knob| {
                let without = space.reverted(winner, &[knob]);
                predicted_cost(forest, winner, &without) < COST_PREDICTED_MAX
            }));
        }
        Self {
            space,
            winner: winner.to_vec(),
            knobs,
        }
    }

    /// The winner without single changes that have to be measured yet, after this many blocks of them.
    pub(super) fn unmeasured(&self, evidence: &Evidence, blocks: usize) -> Vec<Levels> {
        if blocks >= BLOCKS_MAX {
            return Vec::new();
        }
        let needs_values = |levels: &Levels| {
            let is_broken = evidence
                .get(levels)
                .is_some_and(|setting| setting.failed > 0 || setting.void >= VALUES_MIN);
            !is_broken && evidence.count(levels) < VALUES_MIN
        };
        let without = self
            .knobs
            .iter()
            .map(|&knob| self.space.reverted(&self.winner, &[knob]));
        without.filter(needs_values).collect()
    }

    /// The changes that cost less than 1 % each. `evidence` is of the trials since the race, so that the luck by which the
    /// winner won does not count.
    pub(super) fn cheap(&self, evidence: &Evidence, forest: &Forest) -> Reverted {
        let costs = self.knobs.iter().filter_map(|&knob| {
            let without = self.space.reverted(&self.winner, &[knob]);
            Some((knob, self.cost(evidence, forest, &without)?))
        });
        costs.filter(|(_, cost)| *cost < COST_MAX).collect()
    }

    /// The winner without these changes; `None` when nothing goes back, or nothing is left.
    pub(super) fn without(&self, reverted: &Reverted) -> Option<Levels> {
        let knobs: Vec<usize> = reverted.iter().map(|(knob, _)| *knob).collect();
        let levels = self.space.reverted(&self.winner, &knobs);
        (levels != self.winner && !self.space.is_default(&levels)).then_some(levels)
    }

    /// Whether the winner without all of these changes carries as much, but for 1 % for each.
    pub(super) fn is_as_good(
        &self,
        evidence: &Evidence,
        forest: &Forest,
        without: &[usize],
        reverted: &Reverted,
    ) -> bool {
        let has_failed = evidence
            .get(without)
            .is_none_or(|setting| setting.failed > 0);
        let cost = self.cost(evidence, forest, without);
        !has_failed && cost.is_some_and(|cost| cost < COST_MAX * reverted.len() as f64)
    }

    /// What the winner loses by being another setting; `None` when either was not measured or failed.
    fn cost(&self, evidence: &Evidence, forest: &Forest, without: &[usize]) -> Option<f64> {
        let (winner, other) = (evidence.get(&self.winner)?, evidence.get(without)?);
        if other.failed > 0 {
            return None;
        }
        let measured = winner.mean()? - other.mean()?;
        let predicted = predicted_cost(forest, &self.winner, without);
        let count = other.values.len() as f64;
        Some((count * measured + FOREST_WEIGHT * predicted) / (count + FOREST_WEIGHT))
    }
}

fn predicted_cost(forest: &Forest, winner: &[usize], without: &[usize]) -> f64 {
    forest.predict(winner).mean - forest.predict(without).mean
}

#[cfg(test)]
mod tests {
    use plimsoll_model::seed::Seed;

    use super::super::observation::{Observation, Score};
    use super::super::space::tests::ordered;
    use super::*;

    /// The first knob doubles the line, the others do nothing, or either of them suffices.
    fn observed(levels: [usize; 3], either: bool) -> Observation {
        let first = if levels[0] > 0 { 2.0 } else { 1.0 };
        let others = if either && levels[1] + levels[2] == 0 {
            0.7
        } else {
            1.0
        };
        Observation {
            levels: levels.to_vec(),
            score: Score::Line(100.0 * first * others),
            ..Observation::default()
        }
    }

    fn evidence(space: &Space, either: bool) -> Evidence {
        let mut observations = Vec::new();
        for first in 0..2 {
            for second in 0..2 {
                for third in 0..2 {
                    observations.push(observed([first, second, third], either));
                    observations.push(observed([first, second, third], either));
                }
            }
        }
        Evidence::of(space, &observations.iter().collect::<Vec<_>>())
    }

    #[test]
    fn changes_that_do_nothing_go_back() {
        let space = Space::new(vec![ordered(2, 0); 3]);
        let evidence = evidence(&space, false);
        let forest = evidence.forest(&space, Seed(1));
        let reversion = Reversion::of(&space, &[1, 1, 1], &forest);
        let cheap = reversion.cheap(&evidence, &forest);
        let knobs: Vec<usize> = cheap.iter().map(|(knob, _)| *knob).collect();
        assert_eq!(knobs, [1, 2]);
        let without = reversion.without(&cheap).unwrap();
        assert_eq!(without, [1, 0, 0]);
        assert!(reversion.is_as_good(&evidence, &forest, &without, &cheap));
        assert!(reversion.unmeasured(&evidence, 0).is_empty());
    }

    #[test]
    fn of_two_changes_of_which_either_suffices_not_both_go_back() {
        let space = Space::new(vec![ordered(2, 0); 3]);
        let evidence = evidence(&space, true);
        let forest = evidence.forest(&space, Seed(1));
        let reversion = Reversion::of(&space, &[1, 1, 1], &forest);
        let both = vec![(1, 0.0), (2, 0.0)];
        let without = reversion.without(&both).unwrap();
        assert!(!reversion.is_as_good(&evidence, &forest, &without, &both));
    }

    #[test]
    fn the_default_is_no_reversion() {
        let space = Space::new(vec![ordered(2, 0); 3]);
        let evidence = evidence(&space, false);
        let forest = evidence.forest(&space, Seed(1));
        let single = Reversion::of(&space, &[0, 1, 0], &forest);
        assert!(single.unmeasured(&Evidence::of(&space, &[]), 0).is_empty());
        let reversion = Reversion::of(&space, &[0, 1, 1], &forest);
        assert_eq!(reversion.without(&vec![(1, 0.0), (2, 0.0)]), None);
        assert_eq!(reversion.without(&Vec::new()), None);
    }
}
