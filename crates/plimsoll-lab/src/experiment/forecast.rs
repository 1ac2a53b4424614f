//! How long trials take and what they cost: as estimated before the first, as measured after.

use std::time::Duration;

use plimsoll_model::price::Price;

use super::trial::TrialRecord;

const MS_PER_HOUR: f64 = 3_600_000.0;

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

/// What a cell costs.
#[derive(Clone, Debug, PartialEq)]
pub struct CellPrice {
    /// Of an hour of the resources that the service holds.
    pub hour: f64,
    /// What requests and traffic cost.
    pub price: Price,
}

/// What the cells of an experiment cost, in one currency.
#[derive(Clone, Debug, PartialEq)]
pub struct CellPrices {
    currency: String,
    cells: Vec<CellPrice>,
}

impl CellPrices {
    /// Of all cells, in their order.
    pub fn new(currency: String, cells: Vec<CellPrice>) -> Self {
        Self { currency, cells }
    }

    /// The currency.
    pub fn currency(&self) -> &str {
        &self.currency
    }

    /// The cells in their order.
    pub fn cells(&self) -> &[CellPrice] {
        &self.cells
    }

    /// What the resources of a cell cost for this long.
    pub fn held_for(&self, cell: usize, ms: f64) -> f64 {
        let hour = self.cells.get(cell).map_or(0.0, |cell| cell.hour);
        hour * ms / MS_PER_HOUR
    }

    /// What the trials so far cost.
    pub fn spent(&self, records: &[TrialRecord]) -> f64 {
        let of_trial = |record: &TrialRecord| {
            self.held_for(record.trial.cell, record.lasted_ms() as f64) + self.traffic(record)
        };
        // A sum of nothing would be -0.
        records
            .iter()
            .map(of_trial)
            .fold(0.0, |sum, cost| sum + cost)
    }

    fn traffic(&self, record: &TrialRecord) -> f64 {
        let cell = self.cells.get(record.trial.cell);
        cell.map_or(0.0, |cell| {
            let (requests, bytes) = (record.traffic.requests, record.traffic.bytes_out);
            cell.price.of_traffic(requests as f64, bytes as f64)
        })
    }

    /// What trials of these cells will cost. Requests and traffic are as in the trials so far: of the cell, else of all.
    fn expected(&self, times: &TrialTimes, records: &[TrialRecord], left: &[usize]) -> f64 {
        let mut sums = vec![(0.0, 0_u32); self.cells.len()];
        let mut all = (0.0, 0_u32);
        for record in records {
            let cost = self.traffic(record);
            for sum in sums
                .get_mut(record.trial.cell)
                .into_iter()
                .chain([&mut all])
            {
                *sum = (sum.0 + cost, sum.1 + 1);
            }
        }
        let mean = |(sum, count): (f64, u32)| (count > 0).then(|| sum / f64::from(count));
        let of_trial = |cell: &usize| {
            let traffic = sums
                .get(*cell)
                .copied()
                .and_then(mean)
                .or_else(|| mean(all));
            self.held_for(*cell, times.expected_ms(*cell)) + traffic.unwrap_or(0.0)
        };
        left.iter().map(of_trial).fold(0.0, |sum, cost| sum + cost)
    }
}

/// Time and price of a whole experiment: that of the trials so far, and what is expected of those that are left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExperimentForecast {
    /// Time of the trials so far, ms.
    pub elapsed_ms: f64,
    /// Time of those that are left, ms.
    pub left_ms: f64,
    /// What the trials so far cost; `None` without prices.
    pub spent: Option<f64>,
    /// What those that are left cost.
    pub price_left: Option<f64>,
}

impl ExperimentForecast {
    /// From the estimates of each cell, the trials so far and the cells of those that are left. A budget of time limits
    /// what is left.
    pub fn of(
        estimated_ms: &[u64],
        prices: Option<&CellPrices>,
        records: &[TrialRecord],
        left: &[usize],
        budget: Option<Duration>,
    ) -> Self {
        let times = TrialTimes::of(estimated_ms, records);
        let elapsed_ms: f64 = records.iter().map(|record| record.lasted_ms() as f64).sum();
        let whole_ms = times.sum_ms(left);
        let budget_ms = budget.map(|budget| (budget.as_secs_f64() * 1e3 - elapsed_ms).max(0.0));
        let left_ms = budget_ms.map_or(whole_ms, |budget| budget.min(whole_ms));
        let share = if whole_ms > 0.0 {
            left_ms / whole_ms
        } else {
            0.0
        };
        Self {
            elapsed_ms,
            left_ms,
            spent: prices.map(|prices| prices.spent(records)),
            price_left: prices.map(|prices| share * prices.expected(&times, records, left)),
        }
    }

    /// Time of all trials, ms.
    pub fn total_ms(&self) -> f64 {
        self.elapsed_ms + self.left_ms
    }

    /// What all trials cost; `None` without prices.
    pub fn total_price(&self) -> Option<f64> {
        Some(self.spent? + self.price_left?)
    }
}
