//! The order of trials: every block holds every setting, in a random order of its own that the seed repeats.

use plimsoll_model::seed::Seed;
use rand::RngExt as _;

/// Settings of a block at most.
const SETTINGS_MAX: usize = 100_000;

/// The order of `settings` in a block: a uniformly random permutation (Durstenfeld, Communications of the ACM 7, 1964).
/// A block's order depends on the seed and its own index only, so a resumed experiment continues with the same.
///
/// # Panics
/// When there are more than a hundred thousand settings.
pub fn random_order(settings: usize, block: u32, seed: Seed) -> Vec<usize> {
    assert!(settings <= SETTINGS_MAX, "{settings} settings");
    let mut random = seed.derive(u64::from(block)).generator();
    let mut order: Vec<usize> = (0..settings).collect();
    for last in (1..settings).rev() {
        order.swap(last, random.random_range(0..=last));
    }
    order
}

/// The order of two settings in a block, A B B A or B A A B by chance: a drift that is linear within the block cancels in
/// the difference of the means.
pub fn mirrored_order(block: u32, seed: Seed) -> [usize; 4] {
    let mut random = seed.derive(u64::from(block)).generator();
    if random.random::<bool>() {
        [0, 1, 1, 0]
    } else {
        [1, 0, 0, 1]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert_eq, proptest};

    use super::*;

    proptest! {
        #[test]
        fn every_setting_is_in_every_block_once(settings in 0_usize..50, block in 0_u32..1000, seed in proptest::prelude::any::<u64>()) {
            let order = random_order(settings, block, Seed(seed));
            prop_assert_eq!(&order, &random_order(settings, block, Seed(seed)));
            let mut sorted = order;
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..settings).collect::<Vec<_>>());
        }
    }

    #[test]
    fn all_orders_are_alike() {
        let mut counts = [0_u32; 6];
        for block in 0..6000 {
            let order = random_order(3, block, Seed(7));
            let index = 2 * order[0] + usize::from(order[1] > order[2]);
            counts[index] += 1;
        }
        // 1000 each; five standard deviations are 144.
        assert!(
            counts.iter().all(|count| (856..=1144).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn both_mirrored_orders_occur() {
        let first: usize = (0..1000)
            .map(|block| mirrored_order(block, Seed(1))[0])
            .sum();
        assert!((400..=600).contains(&first), "{first}");
    }
}
