//! The meters of the market study over the cells of a matrix, in its own formulas and in units instead of ratios.
//!
//! They are printed to be compared with studies that use them. Their areas depend on the order of the axes and on their
//! units, and weigh related axes twice: a cell that moves more bytes wins although it fails. Nothing is ranked by them.

use plimsoll_model::price::HeldResources;

use super::super::meters::{capacity, polygon, study_range, study_scalability};
use super::super::metrics;
use super::scalability::{Means, means};
use super::{MatrixResult, MatrixTrials};

const BYTES_PER_GIB: f64 = (1_u64 << 30) as f64;

/// The meters of a cell as the study computes them; `None` where an axis was not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StudyMeters {
    /// CRAM, allocated: machines, CPUs, GiB of memory.
    pub allocated: Option<f64>,
    /// CRUM, used: CPU, memory and disk, in percent.
    pub used: Option<f64>,
    /// SPM, performance: 1/p50 in 1/ms, answers per minute, good answers in percent.
    pub performance: Option<f64>,
    /// SLM, load: the load line (else the throughput), requests, requests in flight.
    pub load: Option<f64>,
    /// SCM, capacity: load, performance and allocated resources.
    pub capacity: Option<f64>,
    /// SEC, effective capacity: load, performance, used resources; with prices also hours per unit of money.
    pub effective_capacity: Option<f64>,
    /// ESS, effective scalability: (SLM/lowest SLM)/(SEC/lowest SEC).
    pub scalability: Option<f64>,
}

/// The meters of the study over all cells.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StudyRanges {
    /// ESS as the study used it: the range of SPM over the range of SEC.
    pub scalability: Option<f64>,
    /// ESR: the range of SEC.
    pub range: Option<f64>,
}

impl MatrixResult {
    /// The study's ESS and ESR over all cells that have both meters.
    pub fn study_ranges(&self) -> StudyRanges {
        let ends = |of: fn(&StudyMeters) -> Option<f64>| {
            let both = self.study.iter().filter(|meters| {
                meters.performance.is_some() && meters.effective_capacity.is_some()
            });
            let values: Vec<f64> = both.filter_map(of).collect();
            let low = values.iter().copied().min_by(f64::total_cmp)?;
            let high = values.iter().copied().max_by(f64::total_cmp)?;
            (values.len() > 1).then_some((low, high))
        };
        let performance = ends(|meters| meters.performance);
        let capacity = ends(|meters| meters.effective_capacity);
        StudyRanges {
            scalability: performance
                .zip(capacity)
                .and_then(|(performance, capacity)| study_scalability(performance, capacity)),
            range: capacity.map(study_range),
        }
    }
}

/// The meters of all cells.
pub(super) fn study(input: &MatrixTrials) -> Vec<StudyMeters> {
    let price = |cell: usize| input.prices.as_ref()?.get(cell).copied();
    let of_cell = |cell: usize| {
        let Some(found) = means(input, cell) else {
            return StudyMeters::default();
        };
        meters_of(&found, input.held.get(cell), price(cell))
    };
    let mut meters: Vec<StudyMeters> = (0..input.cells.len()).map(of_cell).collect();
    let lowest = |of: fn(&StudyMeters) -> Option<f64>| {
        let values = meters.iter().filter_map(of).filter(|value| *value > 0.0);
        values.min_by(f64::total_cmp)
    };
    let least = lowest(|meters| meters.load).zip(lowest(|meters| meters.effective_capacity));
    for meters in &mut meters {
        let own = meters.load.zip(meters.effective_capacity);
        meters.scalability = own
            .zip(least)
            .filter(|((_, capacity), _)| *capacity > 0.0)
            .map(|((load, capacity), (least_load, least_capacity))| {
                (load / least_load) / (capacity / least_capacity)
            });
    }
    meters
}

fn meters_of(found: &Means, held: Option<&HeldResources>, price: Option<f64>) -> StudyMeters {
    let value = |name: &str| found.get(name).copied();
    let allocated = held
        .and_then(|held| polygon(&[held.machines, held.cpus, held.memory as f64 / BYTES_PER_GIB]));
    let memory = held
        .filter(|held| held.memory > 0)
        .and_then(|held| Some(100.0 * value(metrics::MEMORY)? / held.memory as f64));
    let percent = |name| value(name).map(|share| 100.0 * share);
    let used = area([percent(metrics::CPU), memory, percent(metrics::DISK)]);
    let throughput = value(metrics::THROUGHPUT);
    let performance = area([
        value(metrics::P50).map(|ms| 1.0 / ms),
        throughput.map(|throughput| 60.0 * throughput),
        value(metrics::ERRORS).map(|errors| 100.0 * (1.0 - errors)),
    ]);
    let in_flight = throughput.zip(value(metrics::MEAN));
    let load = area([
        value(metrics::LOAD_LINE).or(throughput),
        value(metrics::REQUESTS),
        // Little's law.
        in_flight.map(|(throughput, ms)| throughput * ms / 1000.0),
    ]);
    let both = load.zip(performance);
    let of_resources =
        |resources: f64| both.map(|(load, performance)| capacity(load, performance, resources));
    let with_price = |used: f64, price: f64| {
        let (load, performance) = both?;
        polygon(&[load, performance, used, 1.0 / price])
    };
    StudyMeters {
        allocated,
        used,
        performance,
        load,
        capacity: allocated.and_then(of_resources),
        effective_capacity: match (used, price.filter(|price| *price > 0.0)) {
            (Some(used), Some(price)) => with_price(used, price),
            (Some(used), None) => of_resources(used),
            (None, _) => None,
        },
        scalability: None,
    }
}

fn area(axes: [Option<f64>; 3]) -> Option<f64> {
    let axes: Option<Vec<f64>> = axes.into_iter().collect();
    polygon(&axes?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::f64::consts::PI;

    use plimsoll_model::seed::Seed;

    use super::super::super::trial::{ExperimentTrial, Role, TrialOutcome};
    use super::super::MatrixFactor;
    use super::*;

    /// What the study's own table has: CRUM, SPM and SEC, at a price of 2.4534 an hour.
    const USED: [f64; 3] = [1.41, 6.464_33, 15.508_6];
    const PRICE: f64 = 2.453_4;

    /// Metrics of a cell whose SLM and SPM are these: one request in flight, ten requests, no errors, a p50 of a second.
    fn metrics_with(load: f64, performance: f64) -> BTreeMap<String, f64> {
        let factor = 0.5 * (2.0 * PI / 3.0).sin();
        let (speed, good) = (0.001, 100.0);
        let per_minute = (performance / factor - speed * good) / (speed + good);
        let throughput = per_minute / 60.0;
        let line = (load / factor - 10.0) / 11.0;
        let values = [
            (metrics::LOAD_LINE, line),
            (metrics::REQUESTS, 10.0),
            (metrics::THROUGHPUT, throughput),
            (metrics::MEAN, 1000.0 / throughput),
            (metrics::P50, 1000.0),
            (metrics::ERRORS, 0.0),
            (metrics::CPU, USED[0] / 100.0),
            (metrics::MEMORY, USED[1] / 100.0 * BYTES_PER_GIB),
            (metrics::DISK, USED[2] / 100.0),
        ];
        values.map(|(name, value)| (name.to_owned(), value)).into()
    }

    #[test]
    fn golden_values_of_the_study_come_of_a_matrix() {
        let (spm, sec) = (6_368.432_38, 1_957_497.59);
        let used = 56.826_22;
        // The load of the second cell at which its SEC is that of the study.
        let load = (2.0 * sec - spm * used - used / PRICE) / (spm + 1.0 / PRICE);
        let cells = [
            metrics_with(200.138_324, 130.460_82),
            metrics_with(load, spm),
        ];
        let trial = |(cell, metrics): (usize, BTreeMap<String, f64>)| {
            let role = Role::Cell(vec![cell]);
            let outcome = TrialOutcome::Measured(metrics);
            (cell, ExperimentTrial::new(0, cell as f64, role, outcome))
        };
        let input = MatrixTrials {
            factors: vec![MatrixFactor {
                name: "architecture".to_owned(),
                levels: vec!["a".to_owned(), "b".to_owned()],
                numbers: None,
            }],
            cells: vec![vec![0], vec![1]],
            trials: cells.into_iter().enumerate().map(trial).collect(),
            prices: Some(vec![PRICE; 2]),
            held: vec![
                HeldResources {
                    machines: 1.0,
                    cpus: 32.0,
                    memory: 1 << 30,
                };
                2
            ],
            weights: BTreeMap::new(),
            objective_s: None,
            seed: Seed(1),
        };
        let result = MatrixResult::of(&input);
        let close = |found: Option<f64>, expected: f64, relative: f64| {
            let found = found.unwrap();
            assert!(
                (found / expected - 1.0).abs() <= relative,
                "{found}, {expected}"
            );
        };
        let first = result.study[0];
        close(first.used, 56.826, 1e-5);
        close(first.performance, 130.460_82, 1e-9);
        close(first.load, 200.138_324, 1e-9);
        close(first.effective_capacity, 16_814.0, 2e-5);
        // One machine, 32 CPUs, 1 GiB: ½ sin 120° · (32 + 32 + 1).
        close(first.allocated, 0.433_012_7 * 65.0, 1e-6);
        close(first.scalability, 1.0, 1e-12);
        let ranges = result.study_ranges();
        close(ranges.scalability, 0.003_21, 2e-3);
        close(ranges.range, sec - 16_814.25, 1e-6);
    }

    #[test]
    fn what_was_not_measured_has_no_meter() {
        let found = meters_of(&Means::new(), None, None);
        assert_eq!(found, StudyMeters::default());
    }
}
