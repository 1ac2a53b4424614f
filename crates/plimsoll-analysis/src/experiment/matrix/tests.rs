use plimsoll_model::seed::Seed;
use plimsoll_testkit::normal::standard_normal;

use super::super::effect::Direction;
use super::super::order::random_order;
use super::super::trial::tests::measured;
use super::super::trial::{Role, Scale, TrialOutcome};
use super::*;

/// A matrix of 3 × 2 levels with noise of 1.5 %, a drift of 20 %, and a law of the logarithm.
fn trials(blocks: u32, seed: u64, law: impl Fn(usize, usize) -> f64) -> Vec<ExperimentTrial> {
    let mut random = Seed(seed).derive(5).generator();
    let total = f64::from(blocks * 7);
    let mut time_s = 0.0;
    let mut trials = Vec::new();
    for block in 0..blocks {
        for setting in std::iter::once(6).chain(random_order(6, block, Seed(seed))) {
            let noise = standard_normal(&mut random);
            let (role, level) = match setting {
                6 => (Role::Reference, 0.0),
                cell => (
                    Role::Cell(vec![cell / 2, cell % 2]),
                    law(cell / 2, cell % 2),
                ),
            };
            let value = 100.0 * (level + 0.015 * noise + 0.2 * time_s / total).exp();
            trials.push(measured(block, time_s, role, value));
            time_s += 1.0;
        }
    }
    trials
}

fn matrix(trials: &[ExperimentTrial]) -> Matrix {
    let criteria = Criteria {
        replicates: 100,
        ..Criteria::standard(Direction::HigherIsBetter, Scale::Ratio, Seed(1))
    };
    Matrix::of(trials, "m", &[3, 2], criteria)
}

fn verdicts(effects: &[ContrastEffect]) -> Vec<EffectVerdict> {
    effects.iter().map(|effect| effect.verdict).collect()
}

#[test]
fn planted_main_effects_are_found() {
    let law = |cores: usize, cache: usize| 0.3 * cores as f64 - 0.1 * cache as f64;
    let matrix = matrix(&trials(6, 1, law));
    let effects = matrix.main_effects();
    assert_eq!(
        verdicts(&effects),
        [
            EffectVerdict::Better,
            EffectVerdict::Better,
            EffectVerdict::Worse
        ]
    );
    for (found, expected) in effects.iter().zip([0.3_f64, 0.6, -0.1]) {
        let error = found.effect.estimate() / expected.exp() - 1.0;
        assert!(error.abs() < 0.04, "{found:?}, {expected} expected");
    }
    assert!(
        matrix
            .interactions()
            .iter()
            .all(|found| !is_shown(found.verdict))
    );
}

#[test]
fn a_planted_interaction_is_found_and_located() {
    // The second cache pays with the third level only.
    let law = |cores: usize, cache: usize| if (cores, cache) == (2, 1) { 0.4 } else { 0.0 };
    let matrix = matrix(&trials(10, 2, law));
    let interactions = matrix.interactions();
    assert_eq!(interactions.len(), 2);
    assert!(!is_shown(interactions[0].verdict), "{interactions:?}");
    assert_eq!(
        interactions[1].verdict,
        EffectVerdict::Better,
        "{interactions:?}"
    );
    assert!((interactions[1].effect.estimate() / 0.4_f64.exp() - 1.0).abs() < 0.05);
}

#[test]
fn a_matrix_without_effects_shows_none() {
    let alarms: usize = (0..60)
        .map(|seed| {
            let matrix = matrix(&trials(5, seed, |_, _| 0.0));
            let all = [matrix.main_effects(), matrix.interactions()].concat();
            all.iter().filter(|found| is_shown(found.verdict)).count()
        })
        .sum();
    assert!(alarms <= 3, "{alarms} of 300 contrasts");
}

#[test]
fn what_is_void_leaves_its_pair_out() {
    let law = |cores: usize, _: usize| 0.3 * cores as f64;
    let mut trials = trials(6, 3, law);
    let whole = matrix(&trials).differences(Contrast::Main {
        axis: 0,
        from: 0,
        to: 1,
    });
    assert_eq!(whole.len(), 12);
    let void = trials
        .iter()
        .position(|trial| trial.levels().is_some_and(|levels| levels == [1, 1]))
        .unwrap();
    trials[void] = ExperimentTrial::new(
        trials[void].block(),
        trials[void].began_s(),
        trials[void].role().clone(),
        TrialOutcome::Void,
    );
    let rest = matrix(&trials).differences(Contrast::Main {
        axis: 0,
        from: 0,
        to: 1,
    });
    assert_eq!(rest.len(), 11);
}

#[test]
fn the_order_of_the_log_does_not_matter() {
    let mut log = trials(4, 4, |cores, cache| 0.1 * (cores + cache) as f64);
    let before = matrix(&log).main_effects();
    log.reverse();
    assert_eq!(before, matrix(&log).main_effects());
}

#[test]
fn many_levels_compare_the_last_alone() {
    assert_eq!(main_contrasts(&[4, 2]).len(), 4);
    assert_eq!(main_contrasts(&[400, 2]).len(), 2);
    assert_eq!(interaction_contrasts(&[4, 2, 3]).len(), 3 + 6 + 2);
    assert_eq!(interaction_contrasts(&[100, 100]).len(), 1);
    assert!(main_contrasts(&[1]).is_empty());
}

fn is_shown(verdict: EffectVerdict) -> bool {
    matches!(verdict, EffectVerdict::Better | EffectVerdict::Worse)
}
