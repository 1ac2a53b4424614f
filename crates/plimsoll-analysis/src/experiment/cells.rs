//! Which cells of a matrix may be the best, and which are not worth more trials.
//!
//! Values are fitted as cell + block, with the variance of the residuals pooled over the matrix: three trials a cell are
//! too few for a test by ranks. All cells that cannot be told from the best are kept: comparisons with the best (Hsu,
//! Annals of Statistics 9, 1981; Multiple Comparisons, 1996, chapter 4) at 1 − α/(k − 1) each (Bonferroni, a little wider
//! than Dunnett's constant). The true best is among them with at least the confidence, in spite of choosing it after the
//! results are known.

use std::collections::BTreeMap;

use super::effect::Direction;
use super::matrix::Matrix;
use super::trial::Scale;
use crate::stats::exact::student_bound;

/// Rounds of the fit; a balanced matrix needs two.
const ROUNDS: usize = 100;
/// Cells that are compared pair by pair at most: those of an experiment.
pub const CELLS_MAX: usize = plimsoll_model::experiment::CELLS_MAX;
/// Values of a cell before it may be dropped from a race.
pub const RACE_VALUES_MIN: usize = 3;
/// Confidence at which a race drops a cell, one-sided.
pub const RACE_CONFIDENCE: f64 = 0.9;

/// A cell and its level.
#[derive(Clone, Debug, PartialEq)]
pub struct CellScore {
    cell: Vec<usize>,
    /// On the scale of the arithmetic, higher is better.
    score: f64,
    trials: usize,
}

impl CellScore {
    /// The levels of its axes.
    pub fn cell(&self) -> &[usize] {
        &self.cell
    }

    /// Blocks in which it was measured.
    pub fn trials(&self) -> usize {
        self.trials
    }
}

/// All cells of a matrix, the best first.
#[derive(Clone, Debug, PartialEq)]
pub struct CellFit {
    scores: Vec<CellScore>,
    /// Standard deviation of a trial.
    deviation: f64,
    freedom: f64,
    direction: Direction,
    scale: Scale,
}

impl CellFit {
    /// The fit; `None` when no residual is left to know the noise by.
    ///
    /// # Panics
    /// When there are more than ten thousand cells.
    pub fn of(matrix: &Matrix) -> Option<Self> {
        let criteria = matrix.criteria();
        let sign: f64 = match criteria.direction {
            Direction::HigherIsBetter => 1.0,
            Direction::LowerIsBetter => -1.0,
        };
        let values: Vec<(u32, &Vec<usize>, f64)> = matrix
            .blocks()
            .flat_map(|(block, cells)| {
                cells
                    .iter()
                    .map(move |(cell, value)| (block, cell, sign * value))
            })
            .collect();
        if values.is_empty() {
            return None;
        }
        let (cells, blocks) = additive(&values);
        assert!(cells.len() <= CELLS_MAX, "{} cells", cells.len());
        let freedom = (values.len() + 1).checked_sub(cells.len() + blocks.len())?;
        if freedom == 0 {
            return None;
        }
        let squares: f64 = values
            .iter()
            .map(|(block, cell, value)| (value - cells[*cell].0 - blocks[block].0).powi(2))
            .sum();
        let mut scores: Vec<CellScore> = cells
            .into_iter()
            .map(|(cell, (score, trials))| CellScore {
                cell: cell.clone(),
                score,
                trials,
            })
            .collect();
        // Stable: equal cells keep the order of their levels.
        scores.sort_by(|a, b| b.score.total_cmp(&a.score));
        Some(Self {
            scores,
            deviation: (squares / freedom as f64).sqrt(),
            freedom: freedom as f64,
            direction: criteria.direction,
            scale: criteria.scale,
        })
    }

    /// All cells, the best first.
    pub fn scores(&self) -> &[CellScore] {
        &self.scores
    }

    /// The level of a cell without the differences of blocks, in units of the metric.
    pub fn level(&self, score: &CellScore) -> f64 {
        self.scale.backward(match self.direction {
            Direction::HigherIsBetter => score.score,
            Direction::LowerIsBetter => -score.score,
        })
    }

    /// The interval of that level, from the pooled variance.
    pub fn interval(&self, score: &CellScore, confidence: f64) -> (f64, f64) {
        let t = self.student(f64::midpoint(confidence, 1.0));
        let half = t * self.deviation / (score.trials.max(1) as f64).sqrt();
        let at = |shift: f64| {
            let score = score.score + shift;
            self.scale.backward(match self.direction {
                Direction::HigherIsBetter => score,
                Direction::LowerIsBetter => -score,
            })
        };
        let (low, high) = (at(-half), at(half));
        (low.min(high), low.max(high))
    }

    /// Cells that may be the best; with `confidence` the best is among them.
    pub fn best(&self, confidence: f64) -> Vec<&CellScore> {
        let others = self.scores.len().saturating_sub(1).max(1) as f64;
        let t = self.student(1.0 - (1.0 - confidence) / others);
        self.scores
            .iter()
            .filter(|cell| {
                !self
                    .scores
                    .iter()
                    .any(|other| self.is_beaten(cell, other, t))
            })
            .collect()
    }

    /// Cells that a race drops: beaten, at the one-sided `confidence`, by a cell that costs no more. Cells with fewer than
    /// [`RACE_VALUES_MIN`] values stay.
    pub fn dominated(&self, price: impl Fn(&[usize]) -> f64, confidence: f64) -> Vec<&CellScore> {
        let t = self.student(confidence);
        let is_dominated = |cell: &CellScore| {
            self.scores.iter().any(|other| {
                other.trials >= RACE_VALUES_MIN
                    && price(&other.cell) <= price(&cell.cell)
                    && self.is_beaten(cell, other, t)
            })
        };
        self.scores
            .iter()
            .filter(|cell| cell.trials >= RACE_VALUES_MIN && is_dominated(cell))
            .collect()
    }

    /// Whether the upper bound of cell − other is below zero.
    fn is_beaten(&self, cell: &CellScore, other: &CellScore, t: f64) -> bool {
        let error = self.deviation * (1.0 / cell.trials as f64 + 1.0 / other.trials as f64).sqrt();
        cell.score - other.score + t * error < 0.0
    }

    fn student(&self, confidence: f64) -> f64 {
        student_bound(self.freedom, confidence).expect("a positive number of degrees")
    }
}

/// Level and number of values of each cell, and of each block.
type Levels<K> = BTreeMap<K, (f64, usize)>;

/// Least squares of value = cell + block by alternating means (backfitting); the blocks sum to zero over the values.
fn additive<'a>(values: &[(u32, &'a Vec<usize>, f64)]) -> (Levels<&'a Vec<usize>>, Levels<u32>) {
    let mut cells: Levels<&Vec<usize>> = BTreeMap::new();
    let mut blocks: Levels<u32> = BTreeMap::new();
    for (block, cell, _) in values {
        cells.entry(*cell).or_default().1 += 1;
        blocks.entry(*block).or_default().1 += 1;
    }
    let all = values.len().max(1) as f64;
    for _ in 0..ROUNDS {
        let mut sums: BTreeMap<&Vec<usize>, f64> = BTreeMap::new();
        for (block, cell, value) in values {
            *sums.entry(*cell).or_default() += value - blocks[block].0;
        }
        let mut moved = 0.0_f64;
        for (cell, level) in &mut cells {
            let mean = sums[cell] / level.1 as f64;
            moved = moved.max((mean - level.0).abs());
            level.0 = mean;
        }
        let mut sums: BTreeMap<u32, f64> = BTreeMap::new();
        for (block, cell, value) in values {
            *sums.entry(*block).or_default() += value - cells[*cell].0;
        }
        // What all blocks share belongs to the cells.
        let shared = sums.values().sum::<f64>() / all;
        for (block, level) in &mut blocks {
            level.0 = sums[block] / level.1 as f64 - shared;
        }
        if moved < 1e-12 {
            break;
        }
    }
    (cells, blocks)
}

#[cfg(test)]
mod tests;
