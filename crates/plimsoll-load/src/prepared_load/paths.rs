//! The order in which a loop takes the paths of a plain load.

use plimsoll_model::plan::{PathOrder, Plan};
use plimsoll_model::seed::Seed;

/// Label of the random choice of paths among the seeds derived from a trial's.
const PATHS_LABEL: u64 = 0x7061_7468;

/// The index of the next path.
#[derive(Debug)]
pub(crate) struct Paths {
    count: u64,
    next: u64,
    stride: u64,
    random: Option<rand_xoshiro::Xoshiro256PlusPlus>,
}

impl Paths {
    /// The paths of loop `index`: the loops together take each path equally often.
    pub(super) fn new(plan: &Plan, seed: Seed, index: u32) -> Self {
        let index = u64::from(index);
        Self {
            count: plan.request.paths.len() as u64,
            next: index,
            stride: u64::from(plan.cores),
            random: (plan.request.order == PathOrder::Random)
                .then(|| seed.derive(PATHS_LABEL).derive(index).generator()),
        }
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u32 {
        if self.count == 1 {
            return 0;
        }
        let index = if let Some(generator) = &mut self.random {
            rand::RngExt::random_range(generator, 0..self.count)
        } else {
            let index = self.next % self.count;
            self.next += self.stride;
            index
        };
        u32::try_from(index).expect("an index below the number of paths, which was checked")
    }
}
