//! Reproducible randomness: one seed per run, streams derived from it by name.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

/// The seed of a run; printed in every report, so that the run can be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seed(pub u64);

impl Seed {
    /// A seed of its own for one user of randomness; equal labels give equal seeds.
    #[must_use]
    pub fn derive(self, label: u64) -> Self {
        // SplitMix64's finaliser: neighbouring labels give unrelated seeds.
        let mut z = self
            .0
            .wrapping_add(label.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Self(z ^ (z >> 31))
    }

    /// A generator whose sequence is the same on every machine.
    pub fn generator(self) -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(self.0)
    }
}
