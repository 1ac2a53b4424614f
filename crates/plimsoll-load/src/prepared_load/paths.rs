//! The order in which a loop takes the paths of a plain load.

use plimsoll_model::plan::{PathOrder, Plan, ZipfExponent};
use plimsoll_model::seed::Seed;
use rand_distr::{Distribution as _, Zipf};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Label of the random choice of paths among the seeds derived from a trial's.
const PATHS_LABEL: u64 = 0x7061_7468;

/// The index of the next path.
#[derive(Debug)]
pub(crate) struct Paths {
    count: u64,
    choice: Choice,
}

/// How the next path is chosen.
#[derive(Debug)]
enum Choice {
    /// In turn: the next one, and how many a loop goes on by.
    Circular {
        next: u64,
        stride: u64,
    },
    Random(Xoshiro256PlusPlus),
    /// By rank, from the first path or from the last.
    Zipf {
        generator: Xoshiro256PlusPlus,
        ranks: Zipf<f64>,
        from_last: bool,
    },
}

impl Paths {
    /// The paths of loop `index`: the loops together take each path equally often, if they are taken in turn.
    pub(super) fn new(plan: &Plan, seed: Seed, index: u32) -> Self {
        let index = u64::from(index);
        let count = plan.request.paths.len() as u64;
        let generator = || seed.derive(PATHS_LABEL).derive(index).generator();
        let zipf = |exponent: ZipfExponent, from_last| Choice::Zipf {
            generator: generator(),
            ranks: Zipf::new(count as f64, exponent.value())
                .expect("at least one path, and an exponent of 0 or more"),
            from_last,
        };
        let choice = match plan.request.order {
            PathOrder::Circular => Choice::Circular {
                next: index,
                stride: u64::from(plan.cores),
            },
            PathOrder::Random => Choice::Random(generator()),
            PathOrder::Zipf(exponent) => zipf(exponent, false),
            PathOrder::Latest(exponent) => zipf(exponent, true),
        };
        Self { count, choice }
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u32 {
        if self.count == 1 {
            return 0;
        }
        let index = match &mut self.choice {
            Choice::Circular { next, stride } => {
                let index = *next % self.count;
                *next += *stride;
                index
            }
            Choice::Random(generator) => rand::RngExt::random_range(generator, 0..self.count),
            Choice::Zipf {
                generator,
                ranks,
                from_last,
            } => {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a rank is a whole number between 1 and the number of paths"
                )]
                let rank = ranks.sample(generator) as u64;
                let index = rank.clamp(1, self.count) - 1;
                if *from_last {
                    self.count - 1 - index
                } else {
                    index
                }
            }
        };
        u32::try_from(index).expect("an index below the number of paths, which was checked")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each of `count` paths is taken in `draws`.
    fn counts(order: PathOrder, count: usize, draws: usize) -> Vec<f64> {
        let mut plan = plimsoll_testkit::plan::get_root(([127, 0, 0, 1], 1).into());
        plan.request.paths = (0..count).map(|number| format!("/{number}")).collect();
        plan.request.order = order;
        let mut paths = Paths::new(&plan, Seed(7), 0);
        let mut counts = vec![0.0; count];
        for _ in 0..draws {
            counts[paths.next() as usize] += 1.0;
        }
        counts
    }

    #[test]
    fn popularity_follows_the_law_that_was_asked_for() {
        const DRAWS: usize = 400_000;
        for exponent in [0.0, 0.6, 0.9, 1.0, 1.4] {
            let order = PathOrder::Zipf(ZipfExponent::new(exponent).unwrap());
            let counts = counts(order, 100, DRAWS);
            let weights: Vec<f64> = (1..=100)
                .map(|rank| f64::from(rank).powf(-exponent))
                .collect();
            let whole: f64 = weights.iter().sum();
            // Pearson's statistic: 99 degrees of freedom, above 148.2 in one of a thousand samples of the law.
            let statistic: f64 = counts
                .iter()
                .zip(&weights)
                .map(|(count, weight)| {
                    let expected = weight / whole * DRAWS as f64;
                    (count - expected).powi(2) / expected
                })
                .sum();
            assert!(statistic < 148.2, "exponent {exponent}: {statistic}");
        }
    }

    #[test]
    fn the_latest_are_the_last() {
        let exponent = ZipfExponent::new(0.99).unwrap();
        let mut first = counts(PathOrder::Zipf(exponent), 50, 10_000);
        let last = counts(PathOrder::Latest(exponent), 50, 10_000);
        first.reverse();
        assert_eq!(first, last);
    }
}
