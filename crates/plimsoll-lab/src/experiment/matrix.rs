//! The blocks of a matrix: every cell in each, and a reference trial before them. With a budget, cells race.
//!
//! A race drops a cell that another beats which costs no more, and ends when the next trial would exceed the budget.
//! Void trials are made up for in further blocks.

use std::time::Duration;

use plimsoll_analysis::experiment::cells::{CellFit, RACE_CONFIDENCE};
use plimsoll_analysis::experiment::effect::Criteria;
use plimsoll_analysis::experiment::matrix::Matrix;
use plimsoll_model::experiment::TrialOrder;
use plimsoll_model::seed::Seed;

use super::block::{BlockTrial, Blocks, random_block};
use super::forecast::TrialTimes;
use super::trial::{PlannedTrial, RecordedOutcome, TrialRecord, TrialRole};

/// Blocks after the planned ones at most, for cells with void trials.
const MAKE_UP_BLOCKS_MAX: u32 = 2;
/// Trials that failed, without one that measured, after which a race drops a cell.
const RACE_FAILED_MIN: usize = 2;

/// The design of a matrix as its blocks need it.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixDesign {
    /// Cells.
    pub cells: usize,
    /// Trials of each.
    pub trials: u32,
    /// Order in a block.
    pub order: TrialOrder,
    /// Seed of the order: that of the log's header.
    pub seed: Seed,
    /// The cell of the reference trials; `None` for no reference trials.
    pub reference: Option<usize>,
    /// Estimated time of a trial of each cell, ms.
    pub estimated_ms: Vec<u64>,
    /// Budget and race; `None` for all trials of all cells.
    pub race: Option<Race>,
}

/// How cells race.
#[derive(Clone, Debug, PartialEq)]
pub struct Race {
    /// Time of all trials together.
    pub budget: Duration,
    /// The metric.
    pub metric: String,
    /// How its values are compared.
    pub criteria: Criteria,
    /// Price of each cell, in any unit.
    pub prices: Vec<f64>,
}

/// The blocks of a matrix.
#[derive(Clone, Debug)]
pub struct MatrixBlocks {
    design: MatrixDesign,
    /// Cells that are still measured, ascending.
    active: Vec<usize>,
}

impl MatrixBlocks {
    /// Of a design; all cells are active.
    pub fn new(design: MatrixDesign) -> Self {
        let active = (0..design.cells).collect();
        Self { design, active }
    }

    /// Seed of the order.
    pub fn seed(&self) -> Seed {
        self.design.seed
    }

    /// Cells that no race has dropped so far, ascending.
    pub fn active(&self) -> &[usize] {
        &self.active
    }

    /// Trials of a whole experiment without a race: those of the cells and of the reference.
    pub fn trials_total(design: &MatrixDesign) -> u64 {
        let block = design.cells + usize::from(design.reference.is_some());
        u64::from(design.trials) * block as u64
    }

    fn drop_beaten(&mut self, records: &[TrialRecord]) {
        let Some(race) = &self.design.race else {
            return;
        };
        let failing: Vec<usize> = self
            .active
            .iter()
            .copied()
            .filter(|cell| is_failing(records, *cell))
            .collect();
        let trials: Vec<_> = records
            .iter()
            .map(|record| record.analysed(&[record.trial.cell]))
            .collect();
        let matrix = Matrix::of(&trials, &race.metric, &[self.design.cells], race.criteria);
        let price = |cell: &[usize]| race.prices.get(cell[0]).copied().unwrap_or(0.0);
        let beaten: Vec<usize> = CellFit::of(&matrix)
            .map(|fit| {
                let dropped = fit.dominated(price, RACE_CONFIDENCE);
                dropped.iter().map(|score| score.cell()[0]).collect()
            })
            .unwrap_or_default();
        self.active
            .retain(|cell| !beaten.contains(cell) && !failing.contains(cell));
    }

    /// Active cells that void trials left with too few results.
    fn short_cells(&self, records: &[TrialRecord]) -> Vec<usize> {
        let wanted = self.design.trials as usize;
        self.active
            .iter()
            .copied()
            .filter(|cell| {
                let results = records.iter().filter(|it| is_result_of(it, *cell));
                results.count() < wanted
            })
            .collect()
    }
}

/// Whether a record is a result of a cell: a void trial is none.
fn is_result_of(record: &TrialRecord, cell: usize) -> bool {
    of_cell(record, cell) && !matches!(record.outcome, RecordedOutcome::Void(_))
}

/// Whether a record is of a cell, and not a reference trial.
fn of_cell(record: &TrialRecord, cell: usize) -> bool {
    record.trial.cell == cell && record.trial.role == TrialRole::Cell
}

/// Whether a cell failed again and again, and never measured.
fn is_failing(records: &[TrialRecord], cell: usize) -> bool {
    let outcomes = records
        .iter()
        .filter(|record| record.trial.cell == cell)
        .map(|record| &record.outcome);
    let (mut failed, mut measured) = (0, false);
    for outcome in outcomes {
        match outcome {
            RecordedOutcome::Failed(_) => failed += 1,
            RecordedOutcome::Measured(_) => measured = true,
            RecordedOutcome::Void(_) => {}
        }
    }
    failed >= RACE_FAILED_MIN && !measured
}

impl Blocks for MatrixBlocks {
    fn next_block(&mut self, block: u32, records: &[TrialRecord]) -> Vec<BlockTrial> {
        self.drop_beaten(records);
        let design = &self.design;
        let cells = if block < design.trials {
            self.active.clone()
        } else if block < design.trials.saturating_add(MAKE_UP_BLOCKS_MAX) {
            self.short_cells(records)
        } else {
            Vec::new()
        };
        if cells.is_empty() {
            return Vec::new();
        }
        match design.order {
            TrialOrder::Random => random_block(&cells, design.reference, block, design.seed),
            TrialOrder::Listed => {
                let reference = design.reference.map(|cell| (cell, TrialRole::Reference));
                let cells = cells.into_iter().map(|cell| (cell, TrialRole::Cell));
                reference.into_iter().chain(cells).collect()
            }
        }
    }

    fn is_spent(&mut self, next: &PlannedTrial, records: &[TrialRecord]) -> bool {
        let Some(race) = &self.design.race else {
            return false;
        };
        let taken_ms: u64 = records.iter().map(TrialRecord::lasted_ms).sum();
        let times = TrialTimes::of(&self.design.estimated_ms, records);
        taken_ms as f64 + times.expected_ms(next.cell) > race.budget.as_secs_f64() * 1000.0
    }

    fn cells_left(&self, records: &[TrialRecord]) -> Vec<usize> {
        let trials = self.design.trials as usize;
        let mut attempts = vec![0_usize; self.design.cells];
        let mut results = vec![0_usize; self.design.cells];
        let mut references_done = 0;
        for record in records {
            match record.trial.role {
                TrialRole::Reference => references_done += 1,
                TrialRole::Cell if record.trial.cell < self.design.cells => {
                    attempts[record.trial.cell] += 1;
                    let is_void = matches!(record.outcome, RecordedOutcome::Void(_));
                    results[record.trial.cell] += usize::from(!is_void);
                }
                TrialRole::Cell | TrialRole::Confirm | TrialRole::Limit => {}
            }
        }
        // A void trial is made up for in a further block, which has a reference trial too.
        let attempts_max = trials + MAKE_UP_BLOCKS_MAX as usize;
        let left = |cell: usize| {
            let wanted = trials.saturating_sub(results[cell]);
            wanted.min(attempts_max.saturating_sub(attempts[cell]))
        };
        let cells = self.active.iter().copied();
        let blocks = cells.clone().map(|cell| attempts[cell] + left(cell)).max();
        let references = self.design.reference.into_iter().flat_map(|cell| {
            let left = blocks.unwrap_or(0).saturating_sub(references_done);
            std::iter::repeat_n(cell, left)
        });
        cells
            .flat_map(|cell| std::iter::repeat_n(cell, left(cell)))
            .chain(references)
            .collect()
    }
}
