//! How the main metric grows with a factor: the Universal Scalability Law over its levels.

use std::collections::BTreeMap;

use super::super::matrix::Matrix;
use super::super::metrics;
use super::MatrixTrials;
use crate::stats::scalability::{self, Scalability};

/// Levels of a factor that a law needs.
const LEVELS_MIN: usize = 3;

/// The law of a factor.
#[derive(Clone, Debug, PartialEq)]
pub struct FactorLaw {
    /// Index of the factor.
    pub factor: usize,
    /// Level and metric, by block.
    pub points: Vec<(f64, f64)>,
    /// The law.
    pub law: Scalability,
    /// 90 % interval of the contention.
    pub contention: Option<(f64, f64)>,
    /// 90 % interval of the coherency.
    pub coherency: Option<(f64, f64)>,
}

/// The laws of all factors with numbers as levels; of load lines and throughput alone.
pub(super) fn laws(input: &MatrixTrials, matrix: &Matrix, metric: &str) -> Vec<FactorLaw> {
    let name = plimsoll_model::labels::metric(metric);
    if name != metrics::LOAD_LINE && name != metrics::THROUGHPUT {
        return Vec::new();
    }
    let factors = input.factors.iter().enumerate();
    let numbered = factors.filter_map(|(index, factor)| Some((index, factor.numbers.as_ref()?)));
    numbered
        .filter(|(_, numbers)| {
            numbers.len() >= LEVELS_MIN && numbers.iter().all(|number| *number > 0.0)
        })
        .filter_map(|(factor, numbers)| {
            let points = points(matrix, factor, numbers);
            let law = scalability::fit(&points)?;
            let intervals = scalability::intervals(&points, input.seed);
            Some(FactorLaw {
                factor,
                points,
                law,
                contention: intervals.map(|pair| pair[0]),
                coherency: intervals.map(|pair| pair[1]),
            })
        })
        .collect()
}

/// For each block and level the mean over the cells that the block has at every level.
fn points(matrix: &Matrix, factor: usize, numbers: &[f64]) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for (_, cells) in matrix.blocks() {
        // By the levels of the other factors: the value at each level.
        let mut rows: BTreeMap<Vec<usize>, Vec<Option<f64>>> = BTreeMap::new();
        for (cell, value) in cells {
            let level = cell[factor];
            let mut others = cell.clone();
            others[factor] = 0;
            let row = rows
                .entry(others)
                .or_insert_with(|| vec![None; numbers.len()]);
            row[level] = Some(*value);
        }
        let whole: Vec<Vec<f64>> = rows
            .into_values()
            .filter_map(|row| row.into_iter().collect())
            .collect();
        if whole.is_empty() {
            continue;
        }
        for (level, number) in numbers.iter().enumerate() {
            let sum: f64 = whole.iter().map(|row| row[level]).sum();
            // Values are logarithms.
            points.push((*number, (sum / whole.len() as f64).exp()));
        }
    }
    points
}
