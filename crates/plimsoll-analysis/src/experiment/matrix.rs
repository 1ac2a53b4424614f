//! What the axes of a matrix do: main effects and interactions of pairs, each from differences within a block.
//!
//! A main effect compares two levels of an axis at equal levels of all others; an interaction compares such differences
//! at two levels of another axis (Box, Hunter and Hunter, Statistics for Experimenters, 1978). Only combinations that were
//! measured on all sides in the same block enter, so that void trials and excluded cells confound nothing.

use std::collections::BTreeMap;

use super::drift::Drift;
use super::effect::{self, Criteria, Effect, EffectVerdict};
use super::trial::{ExperimentTrial, TRIALS_MAX};

/// Contrasts of a metric at most; beyond, only the last level of an axis is compared with its first.
pub(super) const CONTRASTS_MAX: usize = 300;
/// Differences that enter an effect at most: the first.
const DIFFERENCES_MAX: usize = 1000;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contrast {
    /// A level of an axis against another.
    Main {
        /// Index of the axis.
        axis: usize,
        /// Level compared with.
        from: usize,
        /// Level compared.
        to: usize,
    },
    /// The effect of the first axis at a level of the second against its effect at another.
    Interaction {
        /// Index of the first axis.
        first: usize,
        /// Its levels.
        first_levels: (usize, usize),
        /// Index of the second axis.
        second: usize,
        /// Its levels.
        second_levels: (usize, usize),
    },
}

/// A contrast and what it came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContrastEffect {
    /// What is compared.
    pub contrast: Contrast,
    /// Its size.
    pub effect: Effect,
    /// The decision, held to the number of contrasts (Holm).
    pub verdict: EffectVerdict,
}

/// Values of cells by block, without drift; repeated trials of a cell in a block are averaged.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    blocks: BTreeMap<u32, BTreeMap<Vec<usize>, f64>>,
    levels: Vec<usize>,
    criteria: Criteria,
}

impl Matrix {
    /// Of the trials of an experiment with `levels` levels on each axis.
    ///
    /// # Panics
    /// When there are more than a hundred thousand trials, or a trial has another number of axes or a level beyond them.
    pub fn of(
        trials: &[ExperimentTrial],
        metric: &str,
        levels: &[usize],
        criteria: Criteria,
    ) -> Self {
        assert!(trials.len() <= TRIALS_MAX, "{} trials", trials.len());
        let drift = Drift::of(trials, metric, criteria.scale);
        let mut sums: BTreeMap<u32, BTreeMap<Vec<usize>, (f64, f64)>> = BTreeMap::new();
        for trial in trials {
            let Some(cell) = trial.levels() else {
                continue;
            };
            assert!(
                cell.len() == levels.len()
                    && cell.iter().zip(levels).all(|(level, count)| level < count),
                "a cell {cell:?} of {levels:?}"
            );
            if let Some(value) = drift.adjusted(trial, metric) {
                let block = sums.entry(trial.block()).or_default();
                let sum = block.entry(cell.to_vec()).or_insert((0.0, 0.0));
                *sum = (sum.0 + value, sum.1 + 1.0);
            }
        }
        let mean = |(cell, sum): (Vec<usize>, (f64, f64))| (cell, sum.0 / sum.1);
        let blocks = sums.into_iter().map(|(block, cells)| {
            (
                block,
                cells.into_iter().map(mean).collect::<BTreeMap<_, _>>(),
            )
        });
        Self {
            blocks: blocks.collect(),
            levels: levels.to_vec(),
            criteria,
        }
    }

    /// Blocks with their cells and values on the scale of the arithmetic.
    pub fn blocks(&self) -> impl Iterator<Item = (u32, &BTreeMap<Vec<usize>, f64>)> {
        self.blocks.iter().map(|(block, cells)| (*block, cells))
    }

    /// How decisions are made.
    pub(super) fn criteria(&self) -> Criteria {
        self.criteria
    }

    /// Every level of every axis against its first level.
    pub fn main_effects(&self) -> Vec<ContrastEffect> {
        self.effects(&main_contrasts(&self.levels))
    }

    /// Every pair of axes: each level of both against their first levels.
    pub fn interactions(&self) -> Vec<ContrastEffect> {
        self.effects(&interaction_contrasts(&self.levels))
    }

    fn effects(&self, contrasts: &[Contrast]) -> Vec<ContrastEffect> {
        let found: Vec<(Contrast, Effect)> = contrasts
            .iter()
            .filter_map(|contrast| Some((*contrast, self.effect(*contrast)?)))
            .collect();
        let sizes: Vec<Effect> = found.iter().map(|(_, effect)| *effect).collect();
        found
            .into_iter()
            .zip(effect::verdicts(&sizes))
            .map(|((contrast, effect), verdict)| ContrastEffect {
                contrast,
                effect,
                verdict,
            })
            .collect()
    }

    /// The size of a contrast; `None` when nothing was measured on all its sides.
    pub fn effect(&self, contrast: Contrast) -> Option<Effect> {
        Effect::of_pairs(&self.differences(contrast), self.criteria)
    }

    fn differences(&self, contrast: Contrast) -> Vec<f64> {
        let in_block = |cells: &BTreeMap<Vec<usize>, f64>| -> Vec<f64> {
            let difference = |(cell, value): (&Vec<usize>, &f64)| match contrast {
                Contrast::Main { axis, from, to } => {
                    if *cell.get(axis)? != from {
                        return None;
                    }
                    Some(cells.get(&with_level(cell, axis, to))? - value)
                }
                Contrast::Interaction {
                    first,
                    first_levels,
                    second,
                    second_levels,
                } => {
                    if *cell.get(first)? != first_levels.0 || *cell.get(second)? != second_levels.0
                    {
                        return None;
                    }
                    let right = with_level(cell, first, first_levels.1);
                    let across = cells.get(&with_level(&right, second, second_levels.1))?;
                    let above = cells.get(&with_level(cell, second, second_levels.1))?;
                    Some(across - above - (cells.get(&right)? - value))
                }
            };
            cells.iter().filter_map(difference).collect()
        };
        let all = self.blocks.values().flat_map(in_block);
        all.take(DIFFERENCES_MAX).collect()
    }
}

fn main_contrasts(levels: &[usize]) -> Vec<Contrast> {
    let all: usize = levels.iter().map(|count| count.saturating_sub(1)).sum();
    let compared = compared_levels(all <= CONTRASTS_MAX);
    levels
        .iter()
        .enumerate()
        .flat_map(|(axis, &count)| {
            compared(count).map(move |to| Contrast::Main { axis, from: 0, to })
        })
        .collect()
}

fn interaction_contrasts(levels: &[usize]) -> Vec<Contrast> {
    let pairs = || {
        let axes = levels.len();
        (0..axes).flat_map(move |first| (first + 1..axes).map(move |second| (first, second)))
    };
    let all: usize = pairs()
        .map(|(first, second)| levels[first].saturating_sub(1) * levels[second].saturating_sub(1))
        .sum();
    let compared = compared_levels(all <= CONTRASTS_MAX);
    let mut contrasts = Vec::new();
    for (first, second) in pairs() {
        for first_level in compared(levels[first]) {
            for second_level in compared(levels[second]) {
                contrasts.push(Contrast::Interaction {
                    first,
                    first_levels: (0, first_level),
                    second,
                    second_levels: (0, second_level),
                });
            }
        }
    }
    contrasts
}

/// The levels that are compared with the first: all, or the last.
fn compared_levels(all: bool) -> impl Fn(usize) -> std::ops::Range<usize> {
    move |count| {
        let first = if all {
            1
        } else {
            count.saturating_sub(1).max(1)
        };
        first..count
    }
}

/// The cell at another level of an axis.
fn with_level(cell: &[usize], axis: usize, level: usize) -> Vec<usize> {
    let mut cell = cell.to_vec();
    cell[axis] = level;
    cell
}

#[cfg(test)]
mod tests;
