//! Two settings side by side: one difference a block.
//!
//! In a block A B B A the difference of the means is free of a linear drift, so nothing is taken out by references. A
//! block counts only whole: with a trial that is void, or failed, the rest of it is no fair pair.

use std::collections::BTreeMap;

use super::effect::{Criteria, Effect};
use super::trial::{ExperimentTrial, Scale, TRIALS_MAX, TrialOutcome};

/// The blocks of a comparison on a metric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockPairs {
    differences: Vec<f64>,
    void: usize,
    /// Failed trials of the baseline and of the candidate.
    failed: (usize, usize),
}

/// Trials of a block by side.
#[derive(Default)]
struct Sides {
    baseline: Vec<f64>,
    candidate: Vec<f64>,
    is_broken: bool,
}

impl BlockPairs {
    /// Candidate minus baseline by block, in the order of the blocks, on the scale of the arithmetic. Trials of other
    /// cells do not enter.
    ///
    /// # Panics
    /// When there are more than a hundred thousand trials.
    pub fn of(
        trials: &[ExperimentTrial],
        metric: &str,
        scale: Scale,
        baseline: &[usize],
        candidate: &[usize],
    ) -> Self {
        assert!(trials.len() <= TRIALS_MAX, "{} trials", trials.len());
        let mut pairs = Self::default();
        let mut blocks: BTreeMap<u32, Sides> = BTreeMap::new();
        for trial in trials {
            let is_candidate = match trial.levels() {
                Some(levels) if levels == baseline => false,
                Some(levels) if levels == candidate => true,
                _ => continue,
            };
            let block = blocks.entry(trial.block()).or_default();
            if *trial.outcome() == TrialOutcome::Failed {
                let failed = &mut pairs.failed;
                *(if is_candidate {
                    &mut failed.1
                } else {
                    &mut failed.0
                }) += 1;
            }
            match trial.value(metric, scale) {
                Some(value) if is_candidate => block.candidate.push(value),
                Some(value) => block.baseline.push(value),
                None => block.is_broken = true,
            }
        }
        for block in blocks.values() {
            if block.is_broken || block.baseline.is_empty() || block.candidate.is_empty() {
                pairs.void += 1;
            } else {
                pairs
                    .differences
                    .push(mean(&block.candidate) - mean(&block.baseline));
            }
        }
        pairs
    }

    /// Blocks that count.
    pub fn valid(&self) -> usize {
        self.differences.len()
    }

    /// Blocks that do not.
    pub fn void(&self) -> usize {
        self.void
    }

    /// Failed trials of the baseline and of the candidate.
    pub fn failed(&self) -> (usize, usize) {
        self.failed
    }

    /// Whether the comparison is void: more than a third of the blocks are.
    pub fn is_void(&self) -> bool {
        3 * self.void > self.void + self.differences.len()
    }

    /// The effect; `None` without valid blocks.
    pub fn effect(&self, criteria: Criteria) -> Option<Effect> {
        Effect::of_pairs(&self.differences, criteria)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use plimsoll_model::seed::Seed;
    use plimsoll_testkit::normal::standard_normal;
    use rand::RngExt as _;

    use super::super::effect::{Direction, EffectVerdict};
    use super::super::order::mirrored_order;
    use super::super::trial::Role;
    use super::super::trial::tests::measured;
    use super::*;

    /// Blocks of four trials; a neighbour slows a quarter of the blocks by half, and all drifts by 30 %.
    fn trials(blocks: u32, factor: f64, seed: u64) -> Vec<ExperimentTrial> {
        let mut random = Seed(seed).derive(3).generator();
        let mut trials = Vec::new();
        for block in 0..blocks {
            let burner = if random.random::<f64>() < 0.25 {
                1.5
            } else {
                1.0
            };
            for setting in mirrored_order(block, Seed(seed)) {
                let noise = standard_normal(&mut random);
                let time_s = trials.len() as f64;
                let drift = 1.0 + 0.3 * time_s / f64::from(4 * blocks);
                let level = if setting == 1 { factor } else { 1.0 };
                let value = level * burner * drift * (0.015 * noise).exp();
                trials.push(measured(block, time_s, Role::Cell(vec![setting]), value));
            }
        }
        trials
    }

    fn verdict(factor: f64, seed: u64) -> EffectVerdict {
        let criteria = Criteria {
            replicates: 100,
            ..Criteria::standard(Direction::LowerIsBetter, Scale::Ratio, Seed(seed))
        };
        let pairs = BlockPairs::of(&trials(12, factor, seed), "m", Scale::Ratio, &[0], &[1]);
        assert_eq!((pairs.valid(), pairs.void()), (12, 0));
        pairs.effect(criteria).unwrap().verdict()
    }

    fn share(factor: f64, wanted: &[EffectVerdict]) -> usize {
        (0..200)
            .filter(|&seed| wanted.contains(&verdict(factor, seed)))
            .count()
    }

    #[test]
    fn equal_settings_alarm_in_at_most_two_of_a_hundred() {
        let alarms = share(1.0, &[EffectVerdict::Better, EffectVerdict::Worse]);
        assert!(alarms <= 4, "{alarms} of 200");
    }

    #[test]
    fn five_percent_are_found_in_nine_of_ten() {
        let found = share(1.05, &[EffectVerdict::Worse]);
        assert!(found >= 180, "{found} of 200");
        let found = share(1.0 / 1.05, &[EffectVerdict::Better]);
        assert!(found >= 180, "{found} of 200");
    }

    #[test]
    fn a_broken_block_never_enters() {
        let mut trials = trials(3, 1.0, 1);
        let replace = |trials: &mut Vec<ExperimentTrial>, index: usize, outcome: TrialOutcome| {
            let old = &trials[index];
            trials[index] =
                ExperimentTrial::new(old.block(), old.began_s(), old.role().clone(), outcome);
        };
        replace(&mut trials, 0, TrialOutcome::Void);
        let pairs = BlockPairs::of(&trials, "m", Scale::Ratio, &[0], &[1]);
        assert_eq!(
            (pairs.valid(), pairs.void(), pairs.is_void()),
            (2, 1, false)
        );
        replace(&mut trials, 5, TrialOutcome::Failed);
        let pairs = BlockPairs::of(&trials, "m", Scale::Ratio, &[0], &[1]);
        assert_eq!((pairs.valid(), pairs.void(), pairs.is_void()), (1, 2, true));
        assert_eq!(pairs.failed().0 + pairs.failed().1, 1);
        assert!(!BlockPairs::default().is_void());
    }

    #[test]
    fn linear_drift_cancels_in_a_mirrored_block() {
        let mut trials = Vec::new();
        for block in 0..6_u32 {
            for (position, setting) in mirrored_order(block, Seed(9)).into_iter().enumerate() {
                let time_s = f64::from(block * 4) + position as f64;
                trials.push(measured(
                    block,
                    time_s,
                    Role::Cell(vec![setting]),
                    5.0 + time_s,
                ));
            }
        }
        let pairs = BlockPairs::of(&trials, "m", Scale::Difference, &[0], &[1]);
        assert!(
            pairs
                .differences
                .iter()
                .all(|difference| difference.abs() < 1e-12)
        );
    }
}
