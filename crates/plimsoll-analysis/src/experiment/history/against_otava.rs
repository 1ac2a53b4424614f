//! Changes of histories against those that Apache Otava 0.8.0 finds, in 500 series with planted steps and spikes.

use super::*;

/// Series.
const SERIES: u64 = 500;
/// A found change is that of a step if it is at most this many runs away.
const NEAR: usize = 3;
/// What Otava finds, a line each, at the same window, p-value and smallest change; `record.py` beside it makes it.
const POINTS: &str = include_str!("against_otava/points.txt");

/// Steele, Lea and Flood, OOPSLA 2014: simple enough that another language makes the same series.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }
}

/// A series of 80 to 200 runs with noise of 0.5 to 2 %, none to three steps of 4 to 20 %, and in every fifth a lone
/// spike; and where the steps are.
fn series(seed: u64) -> (Vec<f64>, Vec<usize>) {
    let mut random = SplitMix(seed);
    let len = 80 + random.below(121);
    let noise = 0.005 + 0.015 * random.uniform();
    let mut steps: Vec<(usize, f64)> = Vec::new();
    for _ in 0..random.below(4) {
        let at = 10 + random.below(len - 20);
        let size = 0.04 + 0.16 * random.uniform();
        let sign = if random.below(2) == 0 { 1.0 } else { -1.0 };
        if steps.iter().all(|step| at.abs_diff(step.0) >= 10) {
            steps.push((at, 1.0 + sign * size));
        }
    }
    let spike = random.below(len);
    let has_spike = seed.is_multiple_of(5) && steps.iter().all(|step| spike.abs_diff(step.0) >= 5);
    let mut level = 100.0;
    let values = (0..len)
        .map(|index| {
            if let Some(step) = steps.iter().find(|step| step.0 == index) {
                level *= step.1;
            }
            let total: f64 = (0..12).map(|_| random.uniform()).sum();
            let value = level * (1.0 + noise * (total - 6.0));
            if has_spike && index == spike {
                value * 1.5
            } else {
                value
            }
        })
        .collect();
    (values, steps.into_iter().map(|step| step.0).collect())
}

/// Steps that were found, found changes that are none, and steps that were missed.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    found: usize,
    wrong: usize,
    missed: usize,
}

impl Score {
    fn add(&mut self, changes: &[usize], steps: &[usize]) {
        let mut left = steps.to_vec();
        for change in changes {
            match left.iter().position(|step| change.abs_diff(*step) <= NEAR) {
                Some(step) => {
                    left.swap_remove(step);
                    self.found += 1;
                }
                None => self.wrong += 1,
            }
        }
        self.missed += left.len();
    }

    /// Harmonic mean of precision and recall.
    fn f1(self) -> f64 {
        let twice = 2.0 * self.found as f64;
        twice / (twice + (self.wrong + self.missed) as f64)
    }
}

fn recorded() -> Vec<Vec<usize>> {
    let index = |word: &str| word.parse().unwrap();
    POINTS
        .lines()
        .map(|line| line.split_whitespace().map(index).collect())
        .collect()
}

#[test]
fn change_points_are_those_of_otava() {
    let recorded = recorded();
    assert_eq!(recorded.len() as u64, SERIES);
    for (seed, points) in (0..SERIES).zip(recorded) {
        let found = divisive::change_points(&series(seed).0, Parameters::default());
        let found: Vec<usize> = found.iter().map(|point| point.index).collect();
        assert_eq!(found, points, "series {seed}");
    }
}

#[test]
fn planted_steps_are_found_at_least_as_well_as_by_otava() {
    let (mut ours, mut otava) = (Score::default(), Score::default());
    for (seed, points) in (0..SERIES).zip(recorded()) {
        let (values, steps) = series(seed);
        let changes = changes(&values, Parameters::default());
        let changes: Vec<usize> = changes
            .iter()
            .filter(|change| change.kind != ChangeKind::Spike)
            .map(|change| change.index)
            .collect();
        ours.add(&changes, &steps);
        otava.add(&points, &steps);
    }
    assert!(ours.f1() >= otava.f1(), "{ours:?}, Otava {otava:?}");
    assert!(ours.f1() > 0.97, "{ours:?}");
}
