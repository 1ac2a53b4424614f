//! The load line from all trials together: a posterior on a grid.
//!
//! A trial's verdict gives the side of the objective; its share of bad requests gives the distance. Near the
//! line that share grows like a power of the rate, and scatters more than independent requests would because slow
//! requests come in clusters: with r the bad requests over those allowed, r has mean (λ/m)^k and variance φ·mean/a,
//! m the line, k its steepness, φ the clustering, a = (1−q)·n the bad requests allowed. r is taken as
//! gamma distributed (Wilson and Hilferty's cube root) and binned, so that distant trials count only as "far". On top
//! come g, the share of trials that fail by noise at any load, and h = 0.01, those that pass by it.
//!
//! Where only the verdict is known, this is P(fail) = g + (1−g−h)·Φ((ln λ − m)/s) with s = √(φ/a)/k: probabilistic
//! bisection with unknown error rates, as the science reference has it. See docs/decisions/0021.

use std::sync::OnceLock;

use crate::stats::exact::normal_cdf;
use crate::verdict::early::FAR;

/// Cells of the grid over ln m.
const CELLS: usize = 361;
/// Steepness: how fast the share of bad requests grows with the rate.
const STEEPNESS: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];
/// Clustering: variance of the number of bad requests over its mean.
const CLUSTERING: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0];
/// Probabilities that a trial fails by noise at any load.
const FALSE_ALARM: [f64; 3] = [0.01, 0.05, 0.15];
/// Share of the false alarms in which even the median request was bad.
const PLAIN_FALSE_ALARMS: f64 = 0.1;
/// Scatter of a full trial's verdict in ln λ up to which it is believed readily. The science reference allows 0.08; a
/// queue with exponential service and forty requests a second has 0.15.
const SCATTER_USUAL: f64 = 0.2;
/// How fast belief falls with the distance of the line from the bracket, as a power of the rate.
const BEYOND_POWER: f64 = 3.0;
/// Probability that a trial passes by noise at any load.
const SPURIOUS_PASS: f64 = 0.01;
/// Mass in the outermost cells at which the grid grows, and how many cells are outermost.
const EDGE_MASS: f64 = 0.02;
const EDGE_CELLS: usize = 3;
/// Bounds of the bins of r that pass, and of those that fail.
const PASSING: [f64; 8] = [0.0, 0.25, 0.35, 0.5, 0.65, 0.8, 0.9, 1.0];
const FAILING: [f64; 6] = [1.0, 1.12, 1.25, 1.5, FAR, f64::INFINITY];

/// The evidence of one trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// Offered rate, 1/s.
    pub rate: f64,
    /// Whether it failed.
    pub failed: bool,
    /// Bad requests that the objective allowed.
    pub allowed: f64,
    /// Bad requests over those allowed; `None` when the verdict rests on something else.
    pub ratio: Option<f64>,
    /// Whether chance can hardly explain the failure: even the median request was bad.
    pub plain: bool,
    /// Exponent of the likelihood: 1 for a full trial, 0.5 for a short one, less for an outdated one.
    pub power: f64,
}

impl Observation {
    /// The bin of r, and the share of its side that it makes up.
    fn bin(&self) -> (f64, f64, f64) {
        let bounds: &[f64] = if self.failed { &FAILING } else { &PASSING };
        let (first, last) = (bounds[0], bounds[bounds.len() - 1]);
        let Some(ratio) = self.ratio else {
            return (first, last, 1.0);
        };
        // A failure has r above 1, a pass at most 1; a ratio on the other side belongs to another bound.
        let index = bounds[1..bounds.len() - 1]
            .iter()
            .filter(|&&bound| {
                if self.failed {
                    ratio > bound
                } else {
                    ratio >= bound
                }
            })
            .count();
        let bins = (bounds.len() - 1) as f64;
        (bounds[index], bounds[index + 1], 1.0 / bins)
    }
}

/// A bound of r in one row of cells of equal steepness: what Wilson and Hilferty's root needs of it, by cell.
struct BoundByCell {
    bound: f64,
    /// (bound/mean)^⅓ − 1.
    excess: Vec<f64>,
}

impl BoundByCell {
    fn new(bound: f64, ln_means: &[f64]) -> Self {
        let finite = bound > 0.0 && bound.is_finite();
        let excess = |ln_mean: &f64| ((bound.ln() - ln_mean) / 3.0).exp() - 1.0;
        Self {
            bound,
            excess: if finite {
                ln_means.iter().map(excess).collect()
            } else {
                Vec::new()
            },
        }
    }

    /// Share of a gamma distribution below the bound in a cell, with three times the root of its shape.
    fn below(&self, curve: &Curve, cell: usize, root3: f64) -> f64 {
        if self.excess.is_empty() {
            return if self.bound > 0.0 { 1.0 } else { 0.0 };
        }
        // 1/(9·shape) is 1/(3·√shape)².
        curve.at(root3 * self.excess[cell] + 1.0 / root3)
    }
}

/// Posterior of the load line.
#[derive(Clone, Debug)]
pub struct Posterior {
    low_ln: f64,
    step: f64,
    /// Weights by steepness, clustering, false alarm and cell.
    weights: Vec<f64>,
    /// Mass of each cell of m, summed over all else.
    masses: Vec<f64>,
    prior: Prior,
    observations: Vec<Observation>,
}

impl Posterior {
    /// A prior over the line after a bracket between `passed` and `failed`, both in 1/s. `allowed` are the bad requests
    /// that a full trial may have. `Prior` has the formula.
    pub fn new(passed: f64, failed: f64, allowed: f64) -> Self {
        let (low_ln, high_ln) = ((passed / 2.0).ln(), (failed * 6.0).ln());
        let step = (high_ln - low_ln) / (CELLS - 1) as f64;
        let prior = Prior {
            inside_ln: (passed.ln(), failed.ln()),
            allowed,
        };
        let weights = prior.weights(low_ln, step);
        Self {
            low_ln,
            step,
            masses: masses(&weights),
            weights,
            prior,
            observations: Vec::new(),
        }
    }

    /// Takes a trial in. The grid grows where mass gathers at an end.
    pub fn observe(&mut self, observation: Observation) {
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
        let total: f64 = self.masses.iter().sum();
        let mut below = 0.0;
        for (cell, mass) in self.masses.iter().enumerate() {
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

    /// Highest rate at which a trial that allows `allowed` bad requests passes with at least `probability`, 1/s,
    /// false alarms aside: no rate is low enough for those.
    pub fn passing_rate(&self, allowed: f64, probability: f64) -> f64 {
        let (mut low, mut high) = (self.quantile(0.001) / 4.0, self.quantile(0.999));
        for _ in 0..24 {
            let middle = (low * high).sqrt();
            if self.pass_probability(middle, allowed) >= probability {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Posterior median of the clustering: requests that are bad together.
    pub fn clustering(&self) -> f64 {
        let mut by_clustering = [0.0; CLUSTERING.len()];
        let rows = self.weights.chunks(CELLS * FALSE_ALARM.len());
        for (index, rows) in rows.enumerate() {
            by_clustering[index % CLUSTERING.len()] += rows.iter().sum::<f64>();
        }
        let half = by_clustering.iter().sum::<f64>() / 2.0;
        let mut below = 0.0;
        for (clustering, mass) in CLUSTERING.into_iter().zip(by_clustering) {
            below += mass;
            if below >= half {
                return clustering;
            }
        }
        CLUSTERING[CLUSTERING.len() - 1]
    }

    /// Probability that an undisturbed trial at `rate` passes, over all that is not known.
    fn pass_probability(&self, rate: f64, allowed: f64) -> f64 {
        let pass = Observation {
            rate,
            failed: false,
            allowed,
            ratio: None,
            plain: false,
            power: 1.0,
        };
        let (mut passed, mut total) = (0.0, 0.0);
        self.each_row(pass, |weights, _, shares| {
            for (weight, share) in weights.iter().zip(shares) {
                passed += weight * share;
                total += weight;
            }
        });
        passed / total
    }

    /// Hands on every row of weights with its share of false alarms and, cell by cell, the share of trials that
    /// fall into the observation's bin when nothing disturbs them.
    fn each_row(&self, observation: Observation, mut take: impl FnMut(&[f64], f64, &[f64])) {
        let (from, to, _) = observation.bin();
        let curve = Curve::get();
        let mut rows = self.weights.chunks(CELLS);
        let mut inside = vec![0.0; CELLS];
        for steepness in STEEPNESS {
            let ln_means = self.ln_means(observation.rate, steepness);
            let bounds = [from, to].map(|bound| BoundByCell::new(bound, &ln_means));
            let thrice: Vec<f64> = ln_means
                .iter()
                .map(|ln_mean| 3.0 * (observation.allowed * ln_mean.exp()).sqrt())
                .collect();
            for clustering in CLUSTERING {
                let scatter = 1.0 / clustering.sqrt();
                for (index, share) in inside.iter_mut().enumerate() {
                    let root3 = thrice[index] * scatter;
                    let [low, high] = &bounds;
                    let between = high.below(curve, index, root3) - low.below(curve, index, root3);
                    *share = between.max(0.0);
                }
                for false_alarm in FALSE_ALARM {
                    take(
                        rows.next().expect("a row for every parameter"),
                        false_alarm,
                        &inside,
                    );
                }
            }
        }
    }

    /// Logarithm of the mean of r at `rate`, by cell.
    fn ln_means(&self, rate: f64, steepness: f64) -> Vec<f64> {
        let ln_rate = rate.ln();
        (0..CELLS)
            .map(|cell| self.low_ln + cell as f64 * self.step)
            .map(|m| (steepness * (ln_rate - m)).clamp(-6.0, 6.0))
            .collect()
    }

    fn multiply(&mut self, observation: Observation) {
        let side = observation.bin().2;
        let mut weights = Vec::with_capacity(self.weights.len());
        let mut highest = 0.0_f64;
        self.each_row(observation, |row, false_alarm, shares| {
            let disturbed = side
                * match (observation.failed, observation.plain) {
                    (true, true) => PLAIN_FALSE_ALARMS * false_alarm,
                    (true, false) => false_alarm,
                    (false, _) => SPURIOUS_PASS,
                };
            for (weight, share) in row.iter().zip(shares) {
                let likelihood = disturbed + (1.0 - false_alarm - SPURIOUS_PASS) * share;
                let weight = weight * raised(likelihood, observation.power);
                highest = highest.max(weight);
                weights.push(weight);
            }
        });
        // Hundreds of likelihoods would underflow; only ratios matter.
        for weight in &mut weights {
            *weight /= highest;
        }
        self.masses = masses(&weights);
        self.weights = weights;
    }

    fn recompute(&mut self) {
        self.weights = self.prior.weights(self.low_ln, self.step);
        for observation in self.observations.clone() {
            self.multiply(observation);
        }
    }

    /// Widens the grid while much mass sits in its outermost cells: nothing is believed only because the grid ends.
    fn grow(&mut self) {
        // Each round widens by a half; a line cannot hide beyond a factor of e²⁰.
        for _ in 0..20 {
            let total: f64 = self.masses.iter().sum();
            let share = |cells: &[f64]| cells.iter().sum::<f64>() / total;
            let low = share(&self.masses[..EDGE_CELLS]) > EDGE_MASS;
            let high = share(&self.masses[CELLS - EDGE_CELLS..]) > EDGE_MASS;
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

/// Φ by linear interpolation in a table: accurate to 10⁻⁶; a posterior needs it thousands of times a trial.
struct Curve(Vec<f64>);

impl Curve {
    const REACH: f64 = 8.0;
    const PER_UNIT: f64 = 256.0;

    fn get() -> &'static Self {
        static CURVE: OnceLock<Curve> = OnceLock::new();
        CURVE.get_or_init(|| {
            let points = 0..=4096_u32;
            Self(
                points
                    .map(|point| normal_cdf(f64::from(point) / Self::PER_UNIT - Self::REACH))
                    .collect(),
            )
        })
    }

    fn at(&self, z: f64) -> f64 {
        let position = (z.clamp(-Self::REACH, Self::REACH) + Self::REACH) * Self::PER_UNIT;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "within the table"
        )]
        let below = (position as usize).min(self.0.len() - 2);
        self.0[below] + (position - below as f64) * (self.0[below + 1] - self.0[below])
    }
}

/// What is believed before the refinement. Uniform over the whole grid it would hold so much beyond the bracket, and so
/// many ways in which every verdict is chance, that a handful of trials could not rule them out.
#[derive(Clone, Copy, Debug)]
struct Prior {
    /// ln of the highest rate that passed and of the one that failed: uniform between them.
    inside_ln: (f64, f64),
    /// Bad requests that a full trial may have.
    allowed: f64,
}

impl Prior {
    /// Weights by steepness, clustering, false alarm and cell. A line beyond the bracket is believed less by the third
    /// power of its distance; verdicts that scatter by s = √(φ/a)/k as 1/(1 + (s/s₀)²).
    fn weights(self, low_ln: f64, step: f64) -> Vec<f64> {
        let (passed, failed) = self.inside_ln;
        let cells = (0..CELLS).map(|cell| {
            let m = low_ln + cell as f64 * step;
            let beyond = (passed - m).max(m - failed).max(0.0);
            (-BEYOND_POWER * beyond).exp()
        });
        let cells: Vec<f64> = cells.collect();
        let mut weights =
            Vec::with_capacity(CELLS * STEEPNESS.len() * CLUSTERING.len() * FALSE_ALARM.len());
        for steepness in STEEPNESS {
            for clustering in CLUSTERING {
                let scatter = (clustering / self.allowed).sqrt() / steepness;
                let weight = 1.0 / (1.0 + (scatter / SCATTER_USUAL).powi(2));
                for _ in FALSE_ALARM {
                    weights.extend(cells.iter().map(|cell| weight * cell));
                }
            }
        }
        weights
    }
}

/// Mass of each cell, summed over all rows.
fn masses(weights: &[f64]) -> Vec<f64> {
    let mut masses = vec![0.0; CELLS];
    for row in weights.chunks(CELLS) {
        for (mass, weight) in masses.iter_mut().zip(row) {
            *mass += weight;
        }
    }
    masses
}

fn raised(likelihood: f64, power: f64) -> f64 {
    if power.to_bits() == 1.0_f64.to_bits() {
        likelihood
    } else if power.to_bits() == 0.5_f64.to_bits() {
        likelihood.sqrt()
    } else {
        likelihood.powf(power)
    }
}

#[cfg(test)]
mod tests;
