//! How long trials take: as estimated before the first, as measured after.

use super::trial::TrialRecord;

/// The time of trials by cell.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialTimes {
    estimated_ms: Vec<u64>,
    /// Time and number of the trials so far.
    measured: Vec<(f64, u32)>,
    /// Measured time by estimated time, over all trials so far.
    ratio: f64,
}

impl TrialTimes {
    /// From the estimates of each cell and the trials so far. A cell without a trial gets its estimate, corrected by
    /// what the others took against theirs.
    pub fn of(estimated_ms: &[u64], records: &[TrialRecord]) -> Self {
        let mut measured = vec![(0.0, 0); estimated_ms.len()];
        let (mut taken_ms, mut expected_ms) = (0.0, 0.0);
        for record in records {
            let Some(cell) = measured.get_mut(record.trial.cell) else {
                continue;
            };
            cell.0 += record.lasted_ms() as f64;
            cell.1 += 1;
            taken_ms += record.lasted_ms() as f64;
            expected_ms += estimated_ms[record.trial.cell] as f64;
        }
        let ratio = if taken_ms > 0.0 && expected_ms > 0.0 {
            taken_ms / expected_ms
        } else {
            1.0
        };
        Self {
            estimated_ms: estimated_ms.to_vec(),
            measured,
            ratio,
        }
    }

    /// The time of a trial of a cell, ms.
    pub fn expected_ms(&self, cell: usize) -> f64 {
        match self.measured.get(cell) {
            Some((sum, count)) if *count > 0 => sum / f64::from(*count),
            _ => {
                let estimated = self.estimated_ms.get(cell).copied().unwrap_or(0);
                estimated as f64 * self.ratio
            }
        }
    }

    /// The time of trials of these cells, one after the other, ms.
    pub fn sum_ms(&self, cells: &[usize]) -> f64 {
        cells.iter().map(|cell| self.expected_ms(*cell)).sum()
    }
}
