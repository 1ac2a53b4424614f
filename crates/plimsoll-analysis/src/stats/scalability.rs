//! The Universal Scalability Law (N. J. Gunther, *Guerrilla Capacity Planning*, 2007, chapter 4): throughput over
//! concurrency.
//!
//! X(N) = γN / (1 + σ(N−1) + κN(N−1)) with X the throughput at concurrency N, γ the throughput of one alone, σ the
//! serialized share (contention) and κ the cost per pair (coherency).

use plimsoll_model::seed::Seed;
use rand::RngExt as _;

/// Points that a fit needs.
pub const POINTS_MIN: usize = 6;
/// Replicates of the bootstrap.
const REPLICATES: usize = 500;
/// Steps of Gauss and Newton, at most; they end by themselves long before.
const STEPS_MAX: usize = 100;
/// Relative change of the squares from which a step changes nothing.
const STILL: f64 = 1e-13;
/// Which of σ and κ are free: all that may be, from none to both.
const FREE: [[bool; 2]; 4] = [[true, true], [true, false], [false, true], [false, false]];

/// The law with its three figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scalability {
    /// γ, per second.
    pub alone: f64,
    /// σ, 0 to 1.
    pub contention: f64,
    /// κ, 0 and more.
    pub coherency: f64,
}

impl Scalability {
    /// What all at once stretch the time of each: the work itself is 1.
    fn stretch(&self, at_once: f64) -> f64 {
        1.0 + self.contention * (at_once - 1.0) + self.coherency * at_once * (at_once - 1.0)
    }

    /// Throughput at so many at once, per second.
    pub fn throughput(&self, at_once: f64) -> f64 {
        self.alone * at_once / self.stretch(at_once)
    }

    /// Shares of the time of each at so many at once: work, contention, coherency. They sum to 1.
    pub fn shares(&self, at_once: f64) -> [f64; 3] {
        let beside = (at_once - 1.0).max(0.0);
        let whole = self.stretch(at_once.max(1.0));
        [
            1.0 / whole,
            self.contention * beside / whole,
            self.coherency * at_once * beside / whole,
        ]
    }

    /// How many at once do the most; `None` where more always do more.
    pub fn peak(&self) -> Option<f64> {
        let peak = ((1.0 - self.contention) / self.coherency).sqrt();
        (self.coherency > 0.0 && peak.is_finite()).then_some(peak)
    }

    fn squares(&self, points: &[(f64, f64)]) -> f64 {
        points
            .iter()
            .map(|&(at_once, throughput)| (throughput - self.throughput(at_once)).powi(2))
            .sum()
    }
}

/// The law through points (N, X), σ and κ not below 0, by least squares of X; `None` for fewer than [`POINTS_MIN`],
/// or where they do not determine the law.
///
/// It begins with N/X = a₀ + a₁(N−1) + a₂N(N−1), which is linear, weighted by X⁴/N², and goes on by steps of Gauss and Newton.
pub fn fit(points: &[(f64, f64)]) -> Option<Scalability> {
    if points.len() < POINTS_MIN {
        return None;
    }
    let fits = FREE.iter().filter_map(|&free| {
        let first = linear(points, free)?;
        Some(polished(points, first, free))
    });
    fits.min_by(|a, b| a.squares(points).total_cmp(&b.squares(points)))
}

/// 90 % intervals of σ and κ: points are drawn with replacement and fitted again.
pub fn intervals(points: &[(f64, f64)], seed: Seed) -> Option<[(f64, f64); 2]> {
    let mut random = seed.generator();
    let fits: Vec<Scalability> = (0..REPLICATES)
        .filter_map(|_| {
            let drawn: Vec<(f64, f64)> = points
                .iter()
                .map(|_| points[random.random_range(0..points.len())])
                .collect();
            fit(&drawn)
        })
        .collect();
    if fits.len() < REPLICATES / 2 {
        return None;
    }
    let interval = |of: fn(&Scalability) -> f64| {
        let mut values: Vec<f64> = fits.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        let edge = values.len() / 20;
        (values[edge], values[values.len() - 1 - edge])
    };
    Some([
        interval(|fit| fit.contention),
        interval(|fit| fit.coherency),
    ])
}

fn is_sound(law: &Scalability) -> bool {
    law.alone > 0.0
        && law.alone.is_finite()
        && (0.0..=1.0).contains(&law.contention)
        && (0.0..=1.0).contains(&law.coherency)
}

/// The linear form.
fn linear(points: &[(f64, f64)], free: [bool; 2]) -> Option<Scalability> {
    let mut sums = NormalEquations::new(free);
    for &(at_once, throughput) in points {
        let of = [1.0, at_once - 1.0, at_once * (at_once - 1.0)];
        let weight = throughput.powi(4) / (at_once * at_once);
        sums.add(of, at_once / throughput, weight);
    }
    let [whole, contention, coherency] = sums.solved()?;
    let law = Scalability {
        alone: 1.0 / whole,
        contention: contention / whole,
        coherency: coherency / whole,
    };
    is_sound(&law).then_some(law)
}

/// Steps that make the squares of X smaller, as long as they do and stay within bounds.
fn polished(points: &[(f64, f64)], mut law: Scalability, free: [bool; 2]) -> Scalability {
    for _ in 0..STEPS_MAX {
        let mut sums = NormalEquations::new(free);
        for &(at_once, throughput) in points {
            let stretch = law.stretch(at_once);
            let fall = -law.alone * at_once * (at_once - 1.0) / (stretch * stretch);
            let slopes = [at_once / stretch, fall, fall * at_once];
            sums.add(slopes, throughput - law.throughput(at_once), 1.0);
        }
        let Some([alone, contention, coherency]) = sums.solved() else {
            return law;
        };
        let next = Scalability {
            alone: law.alone + alone,
            contention: law.contention + contention,
            coherency: law.coherency + coherency,
        };
        let (before, after) = (law.squares(points), next.squares(points));
        if !is_sound(&next) || after >= before {
            return law;
        }
        law = next;
        if before - after <= STILL * before {
            return law;
        }
    }
    law
}

/// Normal equations of three unknowns, of which the last two may be held at 0.
struct NormalEquations {
    matrix: [[f64; 4]; 3],
    free: [bool; 3],
}

impl NormalEquations {
    fn new([second, third]: [bool; 2]) -> Self {
        Self {
            matrix: [[0.0; 4]; 3],
            free: [true, second, third],
        }
    }

    fn add(&mut self, of: [f64; 3], value: f64, weight: f64) {
        for (row, left) in self.matrix.iter_mut().zip(of) {
            for (sum, right) in row.iter_mut().zip(of.into_iter().chain([value])) {
                *sum += weight * left * right;
            }
        }
    }

    /// By elimination; `None` where the equations are singular.
    fn solved(mut self) -> Option<[f64; 3]> {
        for held in (0..3).filter(|&index| !self.free[index]) {
            for row in &mut self.matrix {
                row[held] = 0.0;
            }
            self.matrix[held] = [0.0; 4];
            self.matrix[held][held] = 1.0;
        }
        for column in 0..3 {
            let pivot = (column..3).max_by(|&a, &b| {
                self.matrix[a][column]
                    .abs()
                    .total_cmp(&self.matrix[b][column].abs())
            })?;
            self.matrix.swap(column, pivot);
            let whole = self.matrix[column];
            if whole[column].abs() < f64::MIN_POSITIVE {
                return None;
            }
            for (index, row) in self.matrix.iter_mut().enumerate() {
                let factor = row[column] / whole[column];
                if index != column {
                    for (value, above) in row.iter_mut().zip(whole) {
                        *value -= factor * above;
                    }
                }
            }
        }
        let of = |index: usize| self.matrix[index][3] / self.matrix[index][index];
        let solved = [of(0), of(1), of(2)];
        solved
            .iter()
            .all(|value| value.is_finite())
            .then_some(solved)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Throughput of 1 to 32 at once: B. Schwartz, *Practical Scalability Analysis with the Universal Scalability Law*, 2015.
    const PUBLISHED: [f64; 32] = [
        955.16, 1878.91, 2688.01, 3548.68, 4315.54, 5130.43, 5931.37, 6531.08, 7219.8, 7867.61,
        8278.71, 8646.7, 9047.84, 9426.55, 9645.37, 9897.24, 10097.6, 10240.5, 10532.39, 10798.52,
        11151.43, 11518.63, 11806.0, 12089.37, 12075.41, 12177.29, 12211.41, 12158.93, 12155.27,
        12118.04, 12140.4, 12074.39,
    ];

    fn published() -> Vec<(f64, f64)> {
        let all = PUBLISHED.iter().zip(1..);
        all.map(|(&throughput, at_once)| (f64::from(at_once), throughput))
            .collect()
    }

    #[track_caller]
    fn near(value: f64, published: f64) {
        assert!(
            (value / published - 1.0).abs() < 1e-5,
            "{value} instead of {published}"
        );
    }

    #[test]
    fn the_published_fit() {
        let law = fit(&published()).unwrap();
        near(law.contention, 0.026_715_91);
        near(law.coherency, 7.690_945e-4);
        near(law.alone, 995.6486);
        assert!((35.0..36.0).contains(&law.peak().unwrap()), "{law:?}");
        near(law.throughput(35.0), 12_341.745);
        let shares = law.shares(35.0);
        near(shares.iter().sum(), 1.0);
        near(shares[1] / shares[0], 0.026_715_91 * 34.0);
        let [contention, coherency] = intervals(&published(), Seed(7)).unwrap();
        assert!(
            contention.0 < 0.0267 && 0.0267 < contention.1,
            "{contention:?}"
        );
        assert!(
            coherency.0 < 7.69e-4 && 7.69e-4 < coherency.1,
            "{coherency:?}"
        );
    }

    #[test]
    fn one_at_a_time_is_contention_alone() {
        // M/M/1 has N = ρ / (1 − ρ), so X = μN / (N + 1): γ = μ / 2 and σ = 1 / 2.
        let queue: Vec<(f64, f64)> = [0.5, 1.0, 2.0, 4.0, 9.0, 19.0]
            .into_iter()
            .map(|at_once: f64| (at_once, 100.0 * at_once / (at_once + 1.0)))
            .collect();
        let law = fit(&queue).unwrap();
        near(law.alone, 50.0);
        near(law.contention, 0.5);
        assert!(law.coherency < 1e-9, "{law:?}");
        assert_eq!(fit(&queue[..5]), None);
    }

    proptest! {
        #[test]
        fn what_follows_the_law_is_found(
            alone in 1.0..1e5_f64, contention in 0.0..0.5_f64, coherency in 0.0..0.02_f64
        ) {
            let law = Scalability { alone, contention, coherency };
            let points: Vec<(f64, f64)> = (1..12)
                .map(|step| (f64::from(step * step), law.throughput(f64::from(step * step))))
                .collect();
            let found = fit(&points).unwrap();
            prop_assert!((found.alone / alone - 1.0).abs() < 1e-3, "{found:?}");
            prop_assert!((found.contention - contention).abs() < 1e-3, "{found:?}");
            prop_assert!((found.coherency - coherency).abs() < 1e-4, "{found:?}");
        }

        #[test]
        fn any_points_are_taken(points in prop::collection::vec((0.1..1e4_f64, 0.1..1e6_f64), 0..20)) {
            if let Some(law) = fit(&points) {
                prop_assert!(is_sound(&law));
            }
        }
    }
}
