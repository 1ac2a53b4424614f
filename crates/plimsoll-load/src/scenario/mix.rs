//! The journey of the n-th user: shares that are exact to within one user at any number of them.
//!
//! The n-th choice goes to the journey whose next user is due first (quota method of apportionment), so that after
//! n choices each journey has its share of n, rounded up or down. Ties are broken by the seed: a fixed order
//! would send all users of one journey to the same event loop.

use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use plimsoll_model::seed::Seed;

/// An endless sequence of journeys.
#[derive(Clone, Debug)]
pub(crate) struct JourneySequence {
    /// Shares of each journey, adding up to 1.
    shares: Vec<f64>,
    taken: Vec<u64>,
    count: u64,
    random: Xoshiro256PlusPlus,
}

impl JourneySequence {
    /// Journeys by weight; `None` when no weight is above 0.
    pub(crate) fn new(weights: &[f64], seed: Seed) -> Option<Self> {
        let total: f64 = weights.iter().sum();
        let valid = weights
            .iter()
            .all(|weight| weight.is_finite() && *weight >= 0.0);
        (valid && total > 0.0).then(|| Self {
            shares: weights.iter().map(|weight| weight / total).collect(),
            taken: vec![0; weights.len()],
            count: 0,
            random: seed.generator(),
        })
    }

    /// Skips the next `count` choices, which belong to others.
    pub(crate) fn skip(&mut self, count: u64) {
        for _ in 0..count {
            self.next();
        }
    }

    /// The next journey.
    pub(crate) fn next(&mut self) -> u32 {
        self.count += 1;
        let mut best = (f64::INFINITY, 0);
        let mut equals = 0_u32;
        for (index, (&share, &taken)) in self.shares.iter().zip(&self.taken).enumerate() {
            let has_room = share * self.count as f64 > taken as f64 + 1e-9;
            if !has_room {
                continue;
            }
            let deadline = ((taken + 1) as f64 / share - 1e-9).ceil();
            if deadline < best.0 {
                best = (deadline, index);
                equals = 1;
            } else if deadline <= best.0 {
                equals += 1;
                if self.random.random_range(0..equals) == 0 {
                    best.1 = index;
                }
            }
        }
        self.taken[best.1] += 1;
        u32::try_from(best.1).expect("journeys are far below 2^32")
    }
}

/// The same sequence, stored for access by place.
#[derive(Clone, Debug)]
pub(crate) struct Mix {
    sequence: JourneySequence,
    known: Vec<u32>,
}

impl Mix {
    pub(crate) fn new(sequence: JourneySequence) -> Self {
        Self {
            sequence,
            known: Vec::new(),
        }
    }

    /// The journey of the user at a place, from 1.
    pub(crate) fn at(&mut self, place: u64) -> u32 {
        let index = usize::try_from(place.max(1) - 1).expect("places are users in memory");
        while self.known.len() <= index {
            let next = self.sequence.next();
            self.known.push(next);
        }
        self.known[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shares_are_exact_to_within_one_user_at_any_number(
            weights in prop::collection::vec(0.01_f64..10.0, 1..7),
            seed: u64,
        ) {
            let total: f64 = weights.iter().sum();
            let mut turns = JourneySequence::new(&weights, Seed(seed)).unwrap();
            let mut taken = vec![0_u64; weights.len()];
            for count in 1..500_u64 {
                taken[turns.next() as usize] += 1;
                for (weight, taken) in weights.iter().zip(&taken) {
                    let wanted = weight / total * count as f64;
                    prop_assert!((wanted - *taken as f64).abs() < 1.0 + 1e-6, "{wanted} {taken}");
                }
            }
        }
    }

    #[test]
    fn equal_journeys_do_not_take_strict_turns() {
        let mut mix = Mix::new(JourneySequence::new(&[1.0, 1.0], Seed(4)).unwrap());
        let even = (0..1000).filter(|place| mix.at(2 * place + 1) == 0).count();
        assert!((400..600).contains(&even), "{even} of 1000 at odd places");
    }

    #[test]
    fn what_has_no_weight_has_no_turns() {
        assert!(JourneySequence::new(&[0.0, 0.0], Seed(1)).is_none());
        assert!(JourneySequence::new(&[f64::NAN], Seed(1)).is_none());
        let mut sequence = JourneySequence::new(&[0.0, 1.0], Seed(1)).unwrap();
        assert!((0..100).all(|_| sequence.next() == 1));
    }
}
