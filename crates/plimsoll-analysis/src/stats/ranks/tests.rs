use plimsoll_model::seed::Seed;
use proptest::prelude::{Strategy as _, prop_assert, prop_assert_eq, proptest};
use rand::RngExt as _;

use super::*;

fn close(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance,
        "{found}, {expected} expected"
    );
}

#[test]
fn smallest_p_values_are_the_published_ones() {
    // Science: 5 pairs .0625, 6 pairs .03125; 3+3 → .10, 4+4 → .029, 5+5 → .008.
    for (pairs, p) in [(5, 0.0625), (6, 0.031_25)] {
        let differences: Vec<f64> = (1..=pairs).map(f64::from).collect();
        close(signed_rank(&differences, 0.95).unwrap().p, p, 1e-12);
    }
    for (count, p) in [(3, 0.1), (4, 2.0 / 70.0), (5, 2.0 / 252.0)] {
        let low: Vec<f64> = (1..=count).map(f64::from).collect();
        let high: Vec<f64> = low.iter().map(|value| value + 100.0).collect();
        close(two_samples(&low, &high, 0.95).unwrap().p, p, 1e-12);
    }
}

#[test]
#[expect(
    clippy::approx_constant,
    reason = "a score of a patient that looks like π"
)]
fn depression_scale_of_hollander_and_wolfe() {
    let first = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
    let second = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
    let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| b - a).collect();
    let shift = signed_rank(&differences, 0.95).unwrap();
    close(shift.estimate, -0.46, 1e-9);
    close(shift.low, -0.786, 1e-9);
    close(shift.high, -0.010, 1e-9);
    // One-sided 0.01953.
    close(shift.p, 2.0 * 10.0 / 512.0, 1e-12);
}

#[test]
fn permeability_of_hollander_and_wolfe() {
    let term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
    let early = [1.15, 0.88, 0.90, 0.74, 1.21];
    // One-sided 0.1272.
    close(two_samples(&early, &term, 0.95).unwrap().p, 0.2544, 1e-4);
}

#[test]
fn ties_are_counted_out() {
    // Ten times 1 against seven times 100 and three times 1: C(10, 7) of C(20, 7) put all seven on a side.
    let control = [1.0; 10];
    let mut canary = [100.0; 10];
    canary[..3].fill(1.0);
    let shift = two_samples(&control, &canary, 0.95).unwrap();
    close(shift.p, 2.0 * 120.0 / 77_520.0, 1e-12);
    close(shift.estimate, 99.0, 1e-12);
    close(signed_rank(&[0.0, 0.0], 0.95).unwrap().p, 1.0, 1e-12);
}

#[test]
fn too_few_values_have_no_interval() {
    let shift = signed_rank(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap();
    assert!(shift.low.is_infinite() && shift.high.is_infinite());
    // Six of a sign are 2/64, and the interval are the outermost.
    let shift = signed_rank(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.95).unwrap();
    close(shift.low, 1.0, 1e-12);
    close(shift.high, 6.0, 1e-12);
    assert!(signed_rank(&[], 0.95).is_none());
    assert!(two_samples(&[], &[1.0], 0.95).is_none());
}

#[test]
fn normal_beyond_the_counted_out() {
    let values: Vec<f64> = (0..60).map(|index| f64::from(index) - 24.5).collect();
    let exact = signed_rank(&values, 0.95).unwrap();
    let weights: Vec<usize> = (1..=60).collect();
    let (mean, variance) = signed_rank_moments(60.0);
    let cut = normal_cut(mean, variance, 0.05);
    assert!(cut.abs_diff(cut_of(&subset_sums(&weights), 0.05)) <= 1);
    let longer: Vec<f64> = values.iter().copied().chain([36.0]).collect();
    let normal = signed_rank(&longer, 0.95).unwrap();
    assert!(
        normal.p < exact.p * 1.5 && normal.p > exact.p / 4.0,
        "{exact:?} {normal:?}"
    );
}

#[test]
fn holm_of_its_example() {
    let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
    for (found, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
        close(*found, expected, 1e-12);
    }
    assert!(holm(&[]).is_empty());
}

#[test]
fn intervals_cover_as_often_as_they_claim() {
    let mut covered = (0, 0);
    for seed in 0..400 {
        let mut random = Seed(seed).generator();
        let mut draw = |count: usize, centre: f64| -> Vec<f64> {
            (0..count)
                .map(|_| centre + random.random::<f64>() + random.random::<f64>() - 1.0)
                .collect()
        };
        let pairs = signed_rank(&draw(10, 0.3), 0.95).unwrap();
        covered.0 += i32::from((pairs.low..=pairs.high).contains(&0.3));
        let (low, high) = (draw(8, 0.0), draw(8, 0.3));
        let samples = two_samples(&low, &high, 0.95).unwrap();
        covered.1 += i32::from((samples.low..=samples.high).contains(&0.3));
    }
    // At least 95 % of 400 less three standard deviations: discrete, so rather more.
    assert!(covered.0 >= 367 && covered.1 >= 367, "{covered:?}");
}

proptest! {
    #[test]
    fn order_does_not_matter_and_sign_mirrors(
        (values, turned) in proptest::collection::vec(-50_i32..50, 1..12)
            .prop_flat_map(|values| {
                let turned = proptest::sample::subsequence(values.clone(), values.len()).prop_shuffle();
                (proptest::strategy::Just(values), turned)
            })
    ) {
        let floats = |values: &[i32]| -> Vec<f64> { values.iter().map(|value| f64::from(*value)).collect() };
        let shift = signed_rank(&floats(&values), 0.9).unwrap();
        prop_assert_eq!(shift, signed_rank(&floats(&turned), 0.9).unwrap());
        let mirrored: Vec<f64> = floats(&values).iter().map(|value| -value).collect();
        let mirrored = signed_rank(&mirrored, 0.9).unwrap();
        prop_assert!((shift.p - mirrored.p).abs() < 1e-12);
        prop_assert!((shift.estimate + mirrored.estimate).abs() < 1e-12);
        prop_assert!(shift.low <= shift.estimate && shift.estimate <= shift.high);
    }
}
