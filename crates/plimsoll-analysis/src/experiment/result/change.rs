//! The best change of a matrix: from the reference cell to the best other cell.

use super::super::effect::{self, Effect, EffectVerdict};
use super::super::matrix::{CONTRASTS_MAX, Contrast, Matrix};
use super::super::trial::{ExperimentTrial, Role, TRIALS_MAX};
use super::{MatrixResult, MatrixTrials, criteria_of};

/// Cell that the others are compared with.
pub const REFERENCE: usize = 0;

/// A cell against the reference cell, on the main metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellChange {
    /// Index of the cell.
    pub cell: usize,
    /// The size, in the same blocks.
    pub effect: Effect,
    /// The decision, held to the number of cells (Holm).
    pub verdict: EffectVerdict,
}

impl MatrixResult {
    /// The best cell against the reference cell; where that is the best itself, the best of the others. `None` when either
    /// was never measured in the same block.
    pub fn best_change(&self, input: &MatrixTrials) -> Option<CellChange> {
        let metric = self.metric.as_deref()?;
        self.cells.get(REFERENCE)?.level?;
        let mut others: Vec<(usize, f64)> = (0..self.cells.len())
            .filter(|cell| *cell != REFERENCE)
            .filter_map(|cell| Some((cell, self.cells[cell].level?)))
            .collect();
        others.sort_by(|(_, a), (_, b)| {
            if self.is_higher_better {
                b.total_cmp(a)
            } else {
                a.total_cmp(b)
            }
        });
        // Each cell is a level of one factor: no interaction is assumed away.
        let trials: Vec<ExperimentTrial> = input
            .trials
            .iter()
            .take(TRIALS_MAX)
            .map(|(cell, trial)| by_cell(*cell, trial))
            .collect();
        let criteria = criteria_of(metric, input.seed);
        let matrix = Matrix::of(&trials, metric, &[input.cells.len()], criteria);
        let compared: Vec<(usize, Effect)> = others
            .iter()
            .take(CONTRASTS_MAX)
            .filter_map(|(cell, _)| {
                let contrast = Contrast::Main {
                    axis: 0,
                    from: REFERENCE,
                    to: *cell,
                };
                Some((*cell, matrix.effect(contrast)?))
            })
            .collect();
        let effects: Vec<Effect> = compared.iter().map(|(_, effect)| *effect).collect();
        let verdict = effect::verdicts(&effects).into_iter().next()?;
        let (cell, effect) = *compared.first()?;
        Some(CellChange {
            cell,
            effect,
            verdict,
        })
    }
}

fn by_cell(cell: usize, trial: &ExperimentTrial) -> ExperimentTrial {
    let role = match trial.role() {
        Role::Reference => Role::Reference,
        Role::Cell(_) => Role::Cell(vec![cell]),
    };
    ExperimentTrial::new(
        trial.block(),
        trial.began_s(),
        role,
        trial.outcome().clone(),
    )
}
