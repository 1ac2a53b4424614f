//! Reproducible chance for made-up values: a stream from the seed for each request.

use plimsoll_model::seed::Seed;

/// A stream of numbers.
#[derive(Clone, Debug)]
pub(super) struct Chance {
    seed: Seed,
    drawn: u64,
}

impl Chance {
    /// The stream of a seed and a name; equal names give equal streams.
    pub(super) fn new(seed: u64, name: &str) -> Self {
        // FNV-1a; the hasher of the standard library may change with its version.
        let hash = name.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        });
        Self {
            seed: Seed(seed).derive(hash),
            drawn: 0,
        }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.drawn += 1;
        self.seed.derive(self.drawn).0
    }

    /// A number from 0 below `count`; 0 for a count of 0.
    pub(super) fn below(&mut self, count: usize) -> usize {
        let drawn = self.next() >> 1;
        usize::try_from(drawn)
            .unwrap_or(usize::MAX)
            .checked_rem(count)
            .unwrap_or(0)
    }

    /// A number between two, both included.
    pub(super) fn between(&mut self, low: i128, high: i128) -> i128 {
        let width = high.saturating_sub(low).saturating_add(1).max(1);
        low + i128::from(self.next()) % width
    }

    /// One of several.
    pub(super) fn pick<'p, T>(&mut self, list: &'p [T]) -> Option<&'p T> {
        list.get(self.below(list.len()))
    }
}
