//! The simulation of the science reference: true line 1000, trials that fail with g + (1−g−h)·Φ((ln λ − m)/s), run
//! until the interval is 8 % wide. The interval must hold the truth as often as a careful reader would expect.

use super::*;
use plimsoll_model::seed::Seed;
use rand::RngExt as _;

const TRUTH: f64 = 1000.0;
const SEEDS: u64 = 400;
const WIDTH: f64 = 0.08;
const TRIALS_MAX: u32 = 30;

/// A target whose trials fail by chance.
struct NoisyTarget {
    noise: f64,
    false_alarm: f64,
    random: rand_xoshiro::Xoshiro256PlusPlus,
}

impl NoisyTarget {
    fn fails(&mut self, rate: f64) -> bool {
        let beyond = normal_cdf((rate / TRUTH).ln() / self.noise);
        let share = self.false_alarm + (1.0 - self.false_alarm - 0.005) * beyond;
        self.random.random::<f64>() < share
    }

    /// The failure of a bracket trial must repeat, two of three.
    fn fails_twice(&mut self, rate: f64, observed: &mut Vec<(f64, bool)>) -> bool {
        let mut fails = 0;
        for trial in 0..3 {
            let failed = self.fails(rate);
            observed.push((rate, failed));
            fails += i32::from(failed);
            if trial == 0 && !failed {
                return false;
            }
        }
        fails >= 2
    }
}

/// A verdict alone, as of a trial that allows fifty bad requests.
fn verdict(rate: f64, failed: bool, power: f64) -> Observation {
    Observation {
        rate,
        failed,
        allowed: 50.0,
        ratio: None,
        plain: false,
        power,
    }
}

/// One search: its interval and the number of full trials.
fn search(noise: f64, false_alarm: f64, seed: u64) -> ((f64, f64, f64), u32) {
    let mut target = NoisyTarget {
        noise,
        false_alarm,
        random: Seed(seed).generator(),
    };
    let mut bracket = Vec::new();
    // Where doubling meets the line is chance.
    let mut rate = TRUTH / 16.0 * target.random.random_range(1.0..2.0);
    while !target.fails_twice(rate, &mut bracket) {
        rate *= 2.0;
    }
    let mut posterior = Posterior::new(rate / 2.0, rate, 50.0);
    for (rate, failed) in bracket {
        posterior.observe(verdict(rate, failed, 0.5));
    }
    let mut full: Vec<(f64, bool)> = Vec::new();
    for trial in 0..TRIALS_MAX {
        let (low, _, high) = posterior.interval();
        let fails = full
            .iter()
            .filter(|(rate, failed)| *failed && (low..=1.1 * high).contains(rate));
        let passes = full
            .iter()
            .filter(|(rate, failed)| !failed && (0.95 * low..=high).contains(rate));
        let enclosed = fails.count() >= 2 && passes.count() >= 2;
        if high / low <= 1.0 + WIDTH && trial >= 5 && enclosed {
            break;
        }
        let rate = posterior.quantile([0.5, 0.3, 0.7][trial as usize % 3]);
        let failed = target.fails(rate);
        posterior.observe(verdict(rate, failed, 1.0));
        full.push((rate, failed));
    }
    (posterior.interval(), u32::try_from(full.len()).unwrap())
}

/// Share of searches whose interval holds the truth; prints the columns of the reference's table.
fn coverage(noise: f64, false_alarm: f64, seeds: u64) -> f64 {
    let (mut held, mut squares, mut trials) = (0_u32, 0.0, 0);
    for seed in 0..seeds {
        let ((low, median, high), count) = search(noise, false_alarm, seed);
        held += u32::from(low <= TRUTH && TRUTH <= high);
        squares += (median / TRUTH - 1.0).powi(2);
        trials += count;
    }
    let share = f64::from(held) / seeds as f64;
    println!(
        "s={noise} g={false_alarm}: rms {:.1} %, interval holds the truth {:.1} %, {:.1} full trials (seeds 0..{seeds})",
        100.0 * (squares / seeds as f64).sqrt(),
        100.0 * share,
        f64::from(trials) / seeds as f64
    );
    share
}

#[test]
fn interval_holds_the_truth_at_the_highest_noise() {
    assert!(coverage(0.05, 0.08, SEEDS) >= 0.80);
}

#[test]
fn interval_holds_the_truth_at_the_lowest_noise() {
    assert!(coverage(0.01, 0.0, SEEDS) >= 0.95);
}

#[test]
fn interval_holds_the_truth_at_middling_noise() {
    assert!(coverage(0.03, 0.03, 100) >= 0.85);
}

#[test]
fn the_grid_grows_where_the_line_lies_outside() {
    // The bracket was wrong by a factor of twenty: every trial up to 20,000 passes.
    let mut posterior = Posterior::new(500.0, 1000.0, 50.0);
    for _ in 0..12 {
        let rate = posterior.quantile(0.5);
        posterior.observe(verdict(rate, rate > 20_000.0, 1.0));
    }
    let (low, _, high) = posterior.interval();
    assert!(low < 21_000.0 && high > 19_000.0, "{low} {high}");
}

#[test]
fn discounted_verdicts_count_less() {
    let mut posterior = Posterior::new(500.0, 1000.0, 50.0);
    for rate in [700.0, 720.0, 740.0, 760.0, 780.0, 800.0] {
        posterior.observe(verdict(rate, rate > 750.0, 1.0));
    }
    let (low, _, high) = posterior.interval();
    posterior.discount(0.3);
    let (low_after, _, high_after) = posterior.interval();
    assert!(high_after / low_after > high / low);
}
