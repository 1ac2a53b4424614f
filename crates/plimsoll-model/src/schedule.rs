//! When requests are due: an open load as a pure sequence of arrivals.
//!
//! The expected number of arrivals up to a moment, Λ(t), is known in closed form for constant rates and
//! linear ramps. Even spacing puts arrival k where Λ reaches k + ½; Poisson arrivals put it where Λ reaches the
//! k-th point of a unit-rate Poisson process (the inversion method for non-homogeneous processes).

use std::time::Duration;

use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use crate::seed::Seed;

/// How arrivals are spread around the offered rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// Independent arrivals, as of many independent users.
    #[default]
    Poisson,
    /// Equal gaps; understates queueing.
    Even,
}

/// A segment of an open load: the rate changes linearly from `from` to `to`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadPhase {
    /// Rate at the start, arrivals per second, not negative.
    pub from: f64,
    /// Rate at the end, arrivals per second, not negative.
    pub to: f64,
    /// How long the phase lasts, in nanoseconds.
    pub lasting_ns: u64,
}

impl LoadPhase {
    /// A phase at one rate.
    pub fn constant(rate: f64, lasting: Duration) -> Self {
        Self::ramp(rate, rate, lasting)
    }

    /// A phase whose rate changes linearly. Durations are capped at 584 years.
    pub fn ramp(from: f64, to: f64, lasting: Duration) -> Self {
        Self {
            from,
            to,
            lasting_ns: u64::try_from(lasting.as_nanos()).unwrap_or(u64::MAX),
        }
    }

    fn seconds(&self) -> f64 {
        self.lasting_ns as f64 / 1e9
    }

    /// Expected arrivals in the whole phase.
    pub fn expected(&self) -> f64 {
        f64::midpoint(self.from, self.to) * self.seconds()
    }

    /// Seconds into the phase at which `expected` arrivals are due; the root of from·t + (to−from)/(2d)·t².
    fn seconds_at(&self, expected: f64) -> f64 {
        let slope = (self.to - self.from) / self.seconds();
        if slope.abs() < 1e-12 * self.from.max(1.0) {
            return expected / self.from;
        }
        // The citardauq form stays exact when the slope is small beside the rate.
        let root = (self.from * self.from + 2.0 * slope * expected)
            .max(0.0)
            .sqrt();
        2.0 * expected / (self.from + root)
    }
}

/// A moment at which one request is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Position in this schedule, from 0.
    pub seq: u64,
    /// Nanoseconds since the start of the schedule.
    pub due_ns: u64,
}

/// The arrivals of an open load, in order.
#[derive(Clone, Debug)]
pub struct Schedule {
    phases: Vec<LoadPhase>,
    spacing: Spacing,
    generator: Xoshiro256PlusPlus,
    /// Rate of this part as a share of the whole (Poisson), in expected arrivals.
    share: f64,
    /// Every `stride`-th arrival of the whole is this part's (even spacing).
    stride: u64,
    /// Position of the next arrival on the Λ axis of the current part.
    position: f64,
    seq: u64,
    phase: usize,
    /// Λ at the start of the current phase.
    phase_position: f64,
    /// Nanoseconds at the start of the current phase.
    phase_start_ns: u64,
}

impl Schedule {
    /// The whole schedule of `phases`.
    pub fn new(phases: Vec<LoadPhase>, spacing: Spacing, seed: Seed) -> Self {
        Self::part(phases, spacing, seed, 0, 1)
    }

    /// Part `index` of `count` that together make up the whole: Poisson at a share of the rate with a seed of
    /// its own, even spacing by stride. Event loops, worker processes and workers on other hosts each take parts, which
    /// are those of loops in the end: part `k` of `n` is made up of the parts `k`, `k + n`, `k + 2n`, … of a multiple
    /// of `n`.
    ///
    /// # Panics
    /// When `index` is not below `count`.
    pub fn part(
        phases: Vec<LoadPhase>,
        spacing: Spacing,
        seed: Seed,
        index: u64,
        count: u64,
    ) -> Self {
        assert!(index < count, "part {index} of {count} does not exist");
        let mut schedule = Self {
            phases,
            spacing,
            generator: seed.derive(index).generator(),
            share: 1.0,
            stride: 1,
            position: 0.0,
            seq: 0,
            phase: 0,
            phase_position: 0.0,
            phase_start_ns: 0,
        };
        match spacing {
            Spacing::Even => {
                schedule.stride = count;
                schedule.position = index as f64 + 0.5;
            }
            Spacing::Poisson => {
                schedule.share = 1.0 / count as f64;
                schedule.position = schedule.unit_gap();
            }
        }
        schedule
    }

    /// How long the whole schedule lasts, in nanoseconds.
    pub fn length_ns(&self) -> u64 {
        self.phases.iter().map(|phase| phase.lasting_ns).sum()
    }

    /// A gap of a Poisson process of rate one.
    fn unit_gap(&mut self) -> f64 {
        // 1 − u lies in (0, 1], so the logarithm is finite.
        -(1.0 - self.generator.random::<f64>()).ln()
    }

    fn advance(&mut self) {
        self.seq += 1;
        self.position += match self.spacing {
            Spacing::Even => self.stride as f64,
            Spacing::Poisson => self.unit_gap(),
        };
    }
}

impl Iterator for Schedule {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        loop {
            let phase = *self.phases.get(self.phase)?;
            let expected = phase.expected() * self.share;
            let within = self.position - self.phase_position;
            if within < expected {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "within the phase"
                )]
                let offset_ns = (phase.seconds_at(within / self.share) * 1e9) as u64;
                let due_ns = self.phase_start_ns + offset_ns.min(phase.lasting_ns);
                let arrival = Arrival {
                    seq: self.seq,
                    due_ns,
                };
                self.advance();
                return Some(arrival);
            }
            self.phase_position += expected;
            self.phase_start_ns += phase.lasting_ns;
            self.phase += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn phases() -> impl Strategy<Value = Vec<LoadPhase>> {
        let phase = (0.0_f64..500.0, 0.0_f64..500.0, 1_u64..5000);
        prop::collection::vec(
            phase.prop_map(|(from, to, ms)| LoadPhase::ramp(from, to, Duration::from_millis(ms))),
            1..4,
        )
    }

    proptest! {
        #[test]
        fn arrivals_are_ordered_and_within_the_schedule(phases in phases(), seed: u64, even: bool) {
            let spacing = if even { Spacing::Even } else { Spacing::Poisson };
            let schedule = Schedule::new(phases, spacing, Seed(seed));
            let length = schedule.length_ns();
            let mut last = 0;
            for (index, arrival) in schedule.enumerate() {
                prop_assert_eq!(arrival.seq, index as u64);
                prop_assert!(arrival.due_ns >= last && arrival.due_ns <= length);
                last = arrival.due_ns;
            }
        }

        #[test]
        fn even_parts_make_up_the_whole(phases in phases(), parts in 1_u64..5) {
            let whole: Vec<u64> =
                Schedule::new(phases.clone(), Spacing::Even, Seed(1)).map(|arrival| arrival.due_ns).collect();
            let mut merged: Vec<u64> = (0..parts)
                .flat_map(|k| Schedule::part(phases.clone(), Spacing::Even, Seed(1), k, parts))
                .map(|arrival| arrival.due_ns)
                .collect();
            merged.sort_unstable();
            prop_assert_eq!(merged, whole);
        }

        #[test]
        fn a_part_is_made_up_of_parts(phases in phases(), workers in 1_u64..5, loops in 1_u64..4) {
            let part = |index, count| Schedule::part(phases.clone(), Spacing::Even, Seed(1), index, count);
            for worker in 0..workers {
                let whole: Vec<u64> = part(worker, workers).map(|arrival| arrival.due_ns).collect();
                let mut merged: Vec<u64> = (0..loops)
                    .flat_map(|each| part(worker + each * workers, workers * loops))
                    .map(|arrival| arrival.due_ns)
                    .collect();
                merged.sort_unstable();
                prop_assert_eq!(merged, whole);
            }
        }
    }

    #[test]
    fn even_spacing_has_equal_gaps() {
        let due: Vec<u64> = Schedule::new(
            vec![LoadPhase::constant(4.0, SECOND)],
            Spacing::Even,
            Seed(0),
        )
        .map(|arrival| arrival.due_ns)
        .collect();
        assert_eq!(due, [125_000_000, 375_000_000, 625_000_000, 875_000_000]);
    }

    #[test]
    fn a_ramp_offers_the_area_under_it() {
        let count = Schedule::new(
            vec![LoadPhase::ramp(0.0, 1000.0, 10 * SECOND)],
            Spacing::Even,
            Seed(0),
        )
        .count();
        assert_eq!(count, 5000);
    }

    #[test]
    fn poisson_counts_vary_as_the_law_says() {
        // Counts per second of a Poisson process have a variance equal to their mean.
        let rate = 200.0;
        let mut counts = vec![0_f64; 2000];
        for arrival in Schedule::new(
            vec![LoadPhase::constant(rate, 2000 * SECOND)],
            Spacing::Poisson,
            Seed(7),
        ) {
            let second = usize::try_from(arrival.due_ns / 1_000_000_000).unwrap();
            counts[second] += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        let variance =
            counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / (counts.len() - 1) as f64;
        assert!((mean - rate).abs() < 2.0, "mean {mean}");
        assert!(
            (variance / mean - 1.0).abs() < 0.15,
            "index of dispersion {}",
            variance / mean
        );
    }

    #[test]
    fn poisson_parts_add_up_to_the_rate() {
        let phases = vec![LoadPhase::constant(300.0, 100 * SECOND)];
        let total: usize = (0..3)
            .map(|k| Schedule::part(phases.clone(), Spacing::Poisson, Seed(3), k, 3).count())
            .sum();
        assert!(
            (total as f64 - 30_000.0).abs() < 4.0 * 30_000_f64.sqrt(),
            "{total}"
        );
    }

    #[test]
    fn no_rate_means_no_arrivals() {
        let silent = vec![
            LoadPhase::constant(0.0, SECOND),
            LoadPhase::constant(2.0, SECOND),
        ];
        let due: Vec<u64> = Schedule::new(silent, Spacing::Even, Seed(0))
            .map(|arrival| arrival.due_ns)
            .collect();
        assert_eq!(due, [1_250_000_000, 1_750_000_000]);
    }
}
