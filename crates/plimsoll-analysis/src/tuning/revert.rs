//! Knobs that go back to the default because the winner carries as much without their change.
//!
//! The forest names the knobs whose change hardly matters; the winner without each of them is measured, and then without
//! all that cost less than 1 %, because two changes may each suffice alone.

use super::evidence::Evidence;
use super::forest::Forest;
use super::space::{Levels, Space};
use crate::stats::line::mean;

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

/// A change that goes back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RevertedChange {
    pub(super) knob: usize,
    /// What that costs as a logarithm, ...
    pub(super) cost: f64,
    /// ... of as many changes together.
    pub(super) together: usize,
}

/// The changes that go back.
pub(super) type Reverted = Vec<RevertedChange>;

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

    pub(super) fn winner(&self) -> &[usize] {
        &self.winner
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
            Some(RevertedChange {
                knob,
                cost: cost(evidence, forest, &self.winner, &without)?,
                together: 1,
            })
        });
        costs.filter(|change| change.cost < COST_MAX).collect()
    }

    /// The winner without these changes; `None` when nothing goes back, or nothing is left.
    pub(super) fn without(&self, reverted: &Reverted) -> Option<Levels> {
        let knobs: Vec<usize> = reverted.iter().map(|change| change.knob).collect();
        let levels = self.space.reverted(&self.winner, &knobs);
        (levels != self.winner && !self.space.is_default(&levels)).then_some(levels)
    }
}

/// A setting without the changes that matter less than the mean of its changes by the forest; `None` where none does. Of few
/// trials a forest tells no more than that.
pub(super) fn without_minor_changes(
    space: &Space,
    winner: &[usize],
    forest: &Forest,
) -> Option<Levels> {
    let changed = space.changed(winner).into_iter();
    let costs: Vec<(usize, f64)> = changed
        .map(|knob| {
            let without = space.reverted(winner, &[knob]);
            (knob, predicted_cost(forest, winner, &without))
        })
        .collect();
    let mean = mean(&costs.iter().map(|(_, cost)| *cost).collect::<Vec<_>>())?;
    let minor = costs.iter().filter(|(_, cost)| *cost < mean);
    let minor: Vec<usize> = minor.map(|(knob, _)| *knob).collect();
    (!minor.is_empty()).then(|| space.reverted(winner, &minor))
}

/// All changes of a setting that another of `pair` does not have, with what they cost together.
pub(super) fn together(
    space: &Space,
    evidence: &Evidence,
    forest: &Forest,
    (winner, without): (&[usize], &[usize]),
) -> Reverted {
    let cost = cost(evidence, forest, winner, without).unwrap_or(f64::NAN);
    let kept = space.changed(without);
    let changes = space.changed(winner).into_iter();
    let knobs: Vec<usize> = changes.filter(|knob| !kept.contains(knob)).collect();
    let together = knobs.len();
    let change = |knob| RevertedChange {
        knob,
        cost,
        together,
    };
    knobs.into_iter().map(change).collect()
}

/// Whether the winner without so many changes carries as much, but for 1 % for each.
pub(super) fn is_as_good(
    evidence: &Evidence,
    forest: &Forest,
    (winner, without): (&[usize], &[usize]),
    changes: usize,
) -> bool {
    let has_failed = evidence
        .get(without)
        .is_none_or(|setting| setting.failed > 0);
    let cost = cost(evidence, forest, winner, without);
    !has_failed && cost.is_some_and(|cost| cost < COST_MAX * changes as f64)
}

/// Whether nothing shows that a setting carries more than without a change: it was not measured without it, or carried as
/// much. Where the search `has_learned`, what the forest says of a change that was not measured counts.
pub(super) fn is_unshown(
    evidence: &Evidence,
    forest: &Forest,
    levels: &[usize],
    without: &[usize],
    has_learned: bool,
) -> bool {
    let has_failed = evidence
        .get(without)
        .is_some_and(|setting| setting.failed > 0);
    let measured = cost(evidence, forest, levels, without);
    let predicted = has_learned.then(|| predicted_cost(forest, levels, without));
    let is_shown = match (measured, predicted) {
        (Some(cost), _) => cost >= COST_MAX,
        (None, Some(cost)) => cost >= COST_PREDICTED_MAX,
        (None, None) => false,
    };
    !has_failed && !is_shown
}

/// What the winner loses by being another setting; `None` when either was not measured or failed.
fn cost(evidence: &Evidence, forest: &Forest, winner: &[usize], without: &[usize]) -> Option<f64> {
    let (own, other) = (evidence.get(winner)?, evidence.get(without)?);
    if other.failed > 0 {
        return None;
    }
    let measured = own.mean()? - other.mean()?;
    let predicted = predicted_cost(forest, winner, without);
    let count = other.values.len() as f64;
    Some((count * measured + FOREST_WEIGHT * predicted) / (count + FOREST_WEIGHT))
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

    /// A change that costs nothing.
    fn free(knob: usize) -> RevertedChange {
        RevertedChange {
            knob,
            cost: 0.0,
            together: 1,
        }
    }

    #[test]
    fn minor_changes_go_back_together() {
        let space = Space::new(vec![ordered(2, 0); 3]);
        let evidence = evidence(&space, false);
        let forest = evidence.forest(&space, Seed(1));
        let without = without_minor_changes(&space, &[1, 1, 1], &forest).unwrap();
        assert_eq!(without, [1, 0, 0]);
        let pair: (&[usize], &[usize]) = (&[1, 1, 1], &without);
        let reverted = together(&space, &evidence, &forest, pair);
        let changes: Vec<(usize, usize)> =
            reverted.iter().map(|it| (it.knob, it.together)).collect();
        assert_eq!(changes, [(1, 2), (2, 2)]);
        assert!(is_as_good(&evidence, &forest, pair, 2));
        let unshown =
            |without: &[usize]| is_unshown(&evidence, &forest, &[1, 1, 1], without, false);
        assert!(unshown(&[1, 0, 1]) && unshown(&[1, 1, 0]) && !unshown(&[0, 1, 1]));
        assert_eq!(without_minor_changes(&space, &[1, 0, 0], &forest), None);
        // What was not measured is not shown to matter, unless the search had time to learn.
        let none = Evidence::of(&space, &[]);
        assert!(is_unshown(&none, &forest, &[1, 1, 1], &[0, 1, 1], false));
        assert!(!is_unshown(&none, &forest, &[1, 1, 1], &[0, 1, 1], true));
    }

    #[test]
    fn changes_that_do_nothing_go_back() {
        let space = Space::new(vec![ordered(2, 0); 3]);
        let evidence = evidence(&space, false);
        let forest = evidence.forest(&space, Seed(1));
        let reversion = Reversion::of(&space, &[1, 1, 1], &forest);
        let cheap = reversion.cheap(&evidence, &forest);
        let knobs: Vec<usize> = cheap.iter().map(|change| change.knob).collect();
        assert_eq!(knobs, [1, 2]);
        let without = reversion.without(&cheap).unwrap();
        assert_eq!(without, [1, 0, 0]);
        let pair: (&[usize], &[usize]) = (&[1, 1, 1], &without);
        assert!(is_as_good(&evidence, &forest, pair, cheap.len()));
        assert!(reversion.unmeasured(&evidence, 0).is_empty());
    }

    #[test]
    fn of_two_changes_of_which_either_suffices_not_both_go_back() {
        let space = Space::new(vec![ordered(2, 0); 3]);
        let evidence = evidence(&space, true);
        let forest = evidence.forest(&space, Seed(1));
        let reversion = Reversion::of(&space, &[1, 1, 1], &forest);
        let without = reversion.without(&vec![free(1), free(2)]).unwrap();
        let pair: (&[usize], &[usize]) = (&[1, 1, 1], &without);
        assert!(!is_as_good(&evidence, &forest, pair, 2));
    }

    #[test]
    fn the_default_is_no_reversion() {
        let space = Space::new(vec![ordered(2, 0); 3]);
        let evidence = evidence(&space, false);
        let forest = evidence.forest(&space, Seed(1));
        let single = Reversion::of(&space, &[0, 1, 0], &forest);
        assert!(single.unmeasured(&Evidence::of(&space, &[]), 0).is_empty());
        let reversion = Reversion::of(&space, &[0, 1, 1], &forest);
        assert_eq!(reversion.without(&vec![free(1), free(2)]), None);
        assert_eq!(reversion.without(&Vec::new()), None);
    }
}
