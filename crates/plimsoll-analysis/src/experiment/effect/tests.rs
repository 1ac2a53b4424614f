use plimsoll_testkit::normal::standard_normal;
use proptest::prelude::{prop_assert_eq, proptest};

use super::*;

fn criteria(seed: u64) -> Criteria {
    Criteria {
        replicates: 200,
        ..Criteria::standard(Direction::LowerIsBetter, Scale::Ratio, Seed(seed))
    }
}

/// Log ratios of pairs around `centre`, with a standard deviation of `spread`.
fn pairs(count: usize, centre: f64, spread: f64, seed: u64) -> Vec<f64> {
    let mut random = Seed(seed).derive(99).generator();
    (0..count)
        .map(|_| {
            let noise = standard_normal(&mut random);
            centre + spread * noise
        })
        .collect()
}

fn counts(trials: u64, differences: impl Fn(u64) -> Vec<f64>) -> [usize; 4] {
    let verdicts: Vec<EffectVerdict> = (0..trials)
        .map(|seed| {
            let effect = Effect::of_pairs(&differences(seed), criteria(seed)).unwrap();
            effect.verdict()
        })
        .collect();
    [
        EffectVerdict::Better,
        EffectVerdict::Worse,
        EffectVerdict::Same,
        EffectVerdict::Undecided,
    ]
    .map(|wanted| {
        verdicts
            .iter()
            .filter(|verdict| **verdict == wanted)
            .count()
    })
}

#[test]
fn six_pairs_are_the_fewest() {
    let five = Effect::of_pairs(&[0.5; 5], criteria(0)).unwrap();
    assert_eq!(five.verdict(), EffectVerdict::TooFew);
    let six = Effect::of_pairs(&[0.5; 6], criteria(0)).unwrap();
    assert_eq!(six.verdict(), EffectVerdict::Worse);
}

#[test]
fn the_canary_that_kayenta_passed_is_worse() {
    let control = [0.0; 10];
    let mut canary = [100.0_f64.ln(); 10];
    canary[..3].fill(0.0);
    let effect = Effect::of_samples(&control, &canary, criteria(1)).unwrap();
    assert_eq!(effect.verdict(), EffectVerdict::Worse, "{effect:?}");
    let back = Effect::of_samples(&canary, &control, criteria(1)).unwrap();
    assert_eq!(back.verdict(), EffectVerdict::Better, "{back:?}");
    let equal = Effect::of_samples(&control, &control, criteria(1)).unwrap();
    assert_eq!(equal.verdict(), EffectVerdict::Same, "{equal:?}");
}

#[test]
fn direction_decides_what_is_better() {
    let higher = Criteria {
        direction: Direction::HigherIsBetter,
        ..criteria(0)
    };
    let effect = Effect::of_pairs(&[0.5; 6], higher).unwrap();
    assert_eq!(effect.verdict(), EffectVerdict::Better);
    assert!((effect.estimate() - 0.5_f64.exp()).abs() < 1e-12);
}

#[test]
fn no_effect_raises_few_alarms() {
    // No difference, noise of 4 % a pair: the interval must pass the margin of 3 % to alarm.
    let [better, worse, ..] = counts(300, |seed| pairs(8, 0.0, 0.04, seed));
    assert!(better + worse <= 6, "{better} and {worse} of 300");
}

#[test]
fn an_effect_at_the_margin_alarms_at_the_stated_rate() {
    // The worst case that is not worse: exactly 3 %. One side of 95 % is 2.5 %; two estimates of the location look a
    // little more often than that; three deviations above 3 % are 18 of 300.
    let [_, worse, ..] = counts(300, |seed| pairs(8, 1.03_f64.ln(), 0.02, seed));
    assert!(worse <= 18, "{worse} of 300");
}

#[test]
fn a_known_effect_is_found() {
    let [_, worse, same, _] = counts(100, |seed| pairs(12, 1.05_f64.ln(), 0.015, seed));
    assert!(worse >= 90 && same == 0, "{worse} worse, {same} same");
    let [better, _, same, _] = counts(100, |seed| pairs(12, -1.05_f64.ln(), 0.015, seed));
    assert!(better >= 90 && same == 0, "{better} better, {same} same");
}

#[test]
fn no_difference_is_shown_with_little_noise() {
    let [.., same, undecided] = counts(100, |seed| pairs(12, 0.0, 0.015, seed));
    assert!(same >= 90, "{same} same, {undecided} undecided");
}

#[test]
fn looking_five_times_spends_the_error_once() {
    // Without a margin every false alarm counts; the data grows, and the first decision stands.
    let alarms = (0..300)
        .filter(|&seed| {
            let all = pairs(20, 0.0, 0.03, seed);
            [8, 10, 12, 16, 20].iter().any(|&count| {
                let looks = Criteria {
                    error: 0.01,
                    margin: 0.0,
                    replicates: 100,
                    ..criteria(seed)
                };
                let verdict = Effect::of_pairs(&all[..count], looks).unwrap().verdict();
                matches!(verdict, EffectVerdict::Better | EffectVerdict::Worse)
            })
        })
        .count();
    // 5 % of 300 and three standard deviations; looks at the same data err together, so rather fewer.
    assert!(alarms <= 26, "{alarms} of 300");
}

#[test]
fn several_metrics_are_held_to_more() {
    let weak = Effect::of_pairs(&[0.5; 6], criteria(0)).unwrap();
    assert_eq!(verdicts(&[weak]), [EffectVerdict::Worse]);
    // 2 · 0.03125 > 0.05.
    assert_eq!(verdicts(&[weak; 2]), [EffectVerdict::Undecided; 2]);
    let strong = Effect::of_pairs(&[0.5; 10], criteria(0)).unwrap();
    assert_eq!(verdicts(&[strong; 5]), [EffectVerdict::Worse; 5]);
}

proptest! {
    #[test]
    fn order_does_not_change_estimate_and_test(mut values in proptest::collection::vec(-1.0_f64..1.0, 6..12)) {
        let before = Effect::of_pairs(&values, criteria(0)).unwrap();
        values.reverse();
        let after = Effect::of_pairs(&values, criteria(0)).unwrap();
        prop_assert_eq!(before.p().to_bits(), after.p().to_bits());
        prop_assert_eq!(before.estimate().to_bits(), after.estimate().to_bits());
    }
}
