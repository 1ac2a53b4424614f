//! What all trials together say about the load line: a posterior on a grid.
//!
//! P(fail | λ) = g + (1 − g − h)·Φ((ln λ − m)/s): m the logarithm of the line, s the noise of trials, g the share of
//! false alarms, h the share of spurious passes. This is probabilistic bisection with unknown error rates, or
//! adaptive psychometric estimation; the parameters are those of the science reference, with one wider s: short
//! trials at low rates are noisier than 0.08 (a queue's own variability, measured with the simulated queue).

use crate::stats::exact::normal_cdf;

/// Cells of the grid over m.
const CELLS: usize = 481;
/// Standard deviations of a trial's verdict in ln λ.
const NOISE: [f64; 5] = [0.01, 0.02, 0.04, 0.08, 0.16];
/// Probabilities that a trial fails by noise at any load.
const FALSE_ALARM: [f64; 3] = [0.01, 0.05, 0.15];
/// Probability that a trial passes by noise at any load.
const SPURIOUS_PASS: f64 = 0.01;
/// Mass in the outermost cells at which the grid grows, and how many cells are outermost.
const EDGE_MASS: f64 = 0.02;
const EDGE_CELLS: usize = 3;

/// One verdict, as the posterior sees it.
#[derive(Clone, Copy, Debug)]
struct Observation {
    ln_rate: f64,
    failed: bool,
    /// Exponent of the likelihood: 1 for a full trial, 0.5 for a short one, less for an outdated one.
    power: f64,
}

/// Posterior of the load line.
#[derive(Clone, Debug)]
pub struct Posterior {
    low_ln: f64,
    step: f64,
    /// Weights by noise, false alarm and cell.
    weights: Vec<f64>,
    observations: Vec<Observation>,
}

impl Posterior {
    /// A uniform prior from half of `passed` to six times `failed`, both in 1/s.
    pub fn new(passed: f64, failed: f64) -> Self {
        let (low_ln, high_ln) = ((passed / 2.0).ln(), (failed * 6.0).ln());
        let step = (high_ln - low_ln) / (CELLS - 1) as f64;
        Self {
            low_ln,
            step,
            weights: vec![1.0; CELLS * NOISE.len() * FALSE_ALARM.len()],
            observations: Vec::new(),
        }
    }

    /// Takes a verdict in; `power` is the exponent of its likelihood. The grid grows where mass gathers at an end.
    pub fn observe(&mut self, rate: f64, failed: bool, power: f64) {
        let observation = Observation {
            ln_rate: rate.ln(),
            failed,
            power,
        };
        self.observations.push(observation);
        self.multiply(observation);
        self.grow();
    }

    /// Trusts all earlier verdicts less: their likelihoods are raised to `power`.
    pub fn discount(&mut self, power: f64) {
        for observation in &mut self.observations {
            observation.power *= power;
        }
        self.recompute();
    }

    /// The `p` quantile of the line, 1/s.
    pub fn quantile(&self, p: f64) -> f64 {
        let masses = self.masses();
        let total: f64 = masses.iter().sum();
        let mut below = 0.0;
        for (cell, mass) in masses.iter().enumerate() {
            if below + mass >= p * total {
                let within = if *mass > 0.0 {
                    (p * total - below) / mass
                } else {
                    0.5
                };
                return (self.low_ln + (cell as f64 - 0.5 + within) * self.step).exp();
            }
            below += mass;
        }
        (self.low_ln + (CELLS - 1) as f64 * self.step).exp()
    }

    /// Lower end of the 90 % credible interval, median, upper end.
    pub fn interval(&self) -> (f64, f64, f64) {
        (self.quantile(0.05), self.quantile(0.5), self.quantile(0.95))
    }

    /// Posterior mean of the noise s of a trial.
    pub fn noise(&self) -> f64 {
        let total: f64 = self.weights.iter().sum();
        let by_noise = self.weights.chunks(CELLS * FALSE_ALARM.len());
        let sum: f64 = by_noise
            .zip(NOISE)
            .map(|(weights, noise)| noise * weights.iter().sum::<f64>())
            .sum();
        sum / total
    }

    /// Mass of each cell of m, summed over noise and false alarms.
    fn masses(&self) -> Vec<f64> {
        let mut masses = vec![0.0; CELLS];
        for row in self.weights.chunks(CELLS) {
            for (mass, weight) in masses.iter_mut().zip(row) {
                *mass += weight;
            }
        }
        masses
    }

    fn multiply(&mut self, observation: Observation) {
        let Observation {
            ln_rate,
            failed,
            power,
        } = observation;
        let mut highest = 0.0_f64;
        let rows = self.weights.chunks_mut(CELLS * FALSE_ALARM.len());
        for (rows, noise) in rows.zip(NOISE) {
            let beyond: Vec<f64> = (0..CELLS)
                .map(|cell| {
                    let m = self.low_ln + cell as f64 * self.step;
                    normal_cdf(((ln_rate - m) / noise).clamp(-8.0, 8.0))
                })
                .collect();
            for (row, alarm) in rows.chunks_mut(CELLS).zip(FALSE_ALARM) {
                for (weight, beyond) in row.iter_mut().zip(&beyond) {
                    let fails = alarm + (1.0 - alarm - SPURIOUS_PASS) * beyond;
                    let likelihood = if failed { fails } else { 1.0 - fails };
                    *weight *= raised(likelihood, power);
                    highest = highest.max(*weight);
                }
            }
        }
        // Hundreds of likelihoods would underflow; only ratios matter.
        for weight in &mut self.weights {
            *weight /= highest;
        }
    }

    fn recompute(&mut self) {
        self.weights.fill(1.0);
        for observation in self.observations.clone() {
            self.multiply(observation);
        }
    }

    /// Widens the grid while much mass sits in its outermost cells: nothing is believed only because the grid ends.
    fn grow(&mut self) {
        // Each round widens by a half; a line cannot hide beyond a factor of e²⁰.
        for _ in 0..20 {
            let masses = self.masses();
            let total: f64 = masses.iter().sum();
            let share = |cells: &[f64]| cells.iter().sum::<f64>() / total;
            let low = share(&masses[..EDGE_CELLS]) > EDGE_MASS;
            let high = share(&masses[CELLS - EDGE_CELLS..]) > EDGE_MASS;
            if self.observations.is_empty() || !(low || high) {
                return;
            }
            let mut span = self.step * (CELLS - 1) as f64;
            let more = 0.5 * span;
            span += if low && high { 2.0 * more } else { more };
            if low {
                self.low_ln -= more;
            }
            self.step = span / (CELLS - 1) as f64;
            self.recompute();
        }
    }
}

fn raised(likelihood: f64, power: f64) -> f64 {
    if power.to_bits() == 1.0_f64.to_bits() {
        likelihood
    } else {
        likelihood.powf(power)
    }
}

#[cfg(test)]
mod tests;
