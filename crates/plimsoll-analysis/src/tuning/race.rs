//! The race of the best settings: each is measured again before it is believed, for the best of many noisy values is
//! mostly luck.

use plimsoll_model::seed::Seed;

use super::evidence::{Evidence, SettingEvidence};
use super::space::{Levels, Space};
use crate::stats::exact::student_bound;

/// Settings that race.
const CONTENDERS: usize = 4;
/// Values of a contender at the end.
const VALUES_MIN: usize = 3;
/// Blocks at most.
pub(super) const BLOCKS_MAX: usize = 4;
/// Confidence, one-sided, with which a contender has to be worse than the best to be dropped.
const CONFIDENCE: f64 = 0.90;
/// A setting whose values, as logarithms, differ by more is unstable ...
const RANGE_MAX: f64 = 0.2;
/// ... unless as many standard deviations of the default are more: then it is the machine.
const DEVIATIONS_MAX: f64 = 4.0;

/// The settings that race: the best that were measured so far.
pub(super) fn contenders(space: &Space, evidence: &Evidence, seed: Seed) -> Vec<Levels> {
    let ranked = evidence.ranked(&evidence.forest(space, seed));
    let settings = ranked.into_iter().map(|(levels, _)| levels);
    settings.take(CONTENDERS).collect()
}

/// Contenders that have to be measured again: those with too few values that can still be the best. None when the race is
/// decided.
pub(super) fn remaining(space: &Space, evidence: &Evidence, contenders: &[Levels]) -> Vec<Levels> {
    let measured = |levels: &Levels| {
        let setting = evidence.get(levels)?;
        let is_sound = setting.failed == 0 && !is_unstable(space, evidence, setting);
        is_sound.then_some(setting)
    };
    let best = contenders
        .iter()
        .filter_map(measured)
        .filter_map(|setting| Some((setting.mean()?, setting.values.len())))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let needs_values = |levels: &&Levels| {
        measured(levels).is_some_and(|setting| {
            let is_settled = setting.values.len() >= VALUES_MIN || setting.void >= VALUES_MIN;
            !is_settled && !best.is_some_and(|best| is_beaten(evidence, setting, best))
        })
    };
    contenders.iter().filter(needs_values).cloned().collect()
}

/// Contenders that are stable and did not fail, by what they are expected to carry (logarithm of the ratio to the default),
/// the best first.
pub(super) fn standings(
    space: &Space,
    evidence: &Evidence,
    contenders: &[Levels],
    seed: Seed,
) -> Vec<(Levels, f64)> {
    let mut ranked = evidence.ranked(&evidence.forest(space, seed));
    ranked.retain(|(levels, _)| {
        let setting = evidence.get(levels);
        contenders.contains(levels)
            && setting.is_some_and(|setting| !is_unstable(space, evidence, setting))
    });
    ranked
}

/// Whether the values of a setting differ more from trial to trial than the machine explains.
pub(super) fn is_unstable(space: &Space, evidence: &Evidence, setting: &SettingEvidence) -> bool {
    let default = evidence.get(&space.default_levels());
    let machine = default.map_or(0.0, SettingEvidence::deviation);
    setting.range() > RANGE_MAX.max(DEVIATIONS_MAX * machine)
}

/// Whether a contender is worse than the best: the upper bound of the difference of their means, with the variance of all
/// settings pooled, is below 0. `best` is its mean and number of values.
fn is_beaten(evidence: &Evidence, setting: &SettingEvidence, best: (f64, usize)) -> bool {
    let (Some(mean), Some((deviation, degrees))) = (setting.mean(), evidence.deviation()) else {
        return false;
    };
    let Some(quantile) = student_bound(degrees as f64, CONFIDENCE) else {
        return false;
    };
    let counts = 1.0 / setting.values.len() as f64 + 1.0 / best.1 as f64;
    mean - best.0 + quantile * deviation * counts.sqrt() < 0.0
}

#[cfg(test)]
mod tests {
    use super::super::observation::{Observation, Score};
    use super::super::space::tests::ordered;
    use super::*;

    fn evidence_of(space: &Space, lines: &[(usize, &[f64])]) -> Evidence {
        let mut observations = Vec::new();
        for (level, lines) in lines {
            observations.extend(lines.iter().map(|line| Observation {
                levels: vec![*level],
                score: Score::Line(*line),
                ..Observation::default()
            }));
        }
        Evidence::of(space, &observations.iter().collect::<Vec<_>>())
    }

    #[test]
    fn what_is_clearly_worse_is_not_measured_again() {
        let space = Space::new(vec![ordered(8, 0)]);
        let lines: [(usize, &[f64]); 4] = [
            (0, &[100.0, 103.0, 97.0]),
            (1, &[130.0, 127.0]),
            (2, &[126.0]),
            (3, &[105.0]),
        ];
        let evidence = evidence_of(&space, &lines);
        let contenders = [vec![1], vec![2], vec![3]];
        assert_eq!(
            remaining(&space, &evidence, &contenders),
            [vec![1], vec![2]]
        );
    }

    #[test]
    fn a_race_ends_with_three_values_of_each() {
        let space = Space::new(vec![ordered(8, 0)]);
        let lines: [(usize, &[f64]); 3] = [
            (0, &[100.0, 103.0, 97.0]),
            (1, &[130.0, 127.0, 133.0]),
            (2, &[126.0, 135.0, 128.0]),
        ];
        let evidence = evidence_of(&space, &lines);
        let contenders = [vec![1], vec![2]];
        assert!(remaining(&space, &evidence, &contenders).is_empty());
        let standings = standings(&space, &evidence, &contenders, Seed(1));
        assert_eq!(standings.len(), 2);
    }

    #[test]
    fn an_unstable_setting_does_not_win() {
        let space = Space::new(vec![ordered(8, 0)]);
        let lines: [(usize, &[f64]); 3] = [
            (0, &[100.0, 103.0, 97.0]),
            (1, &[190.0, 127.0, 160.0]),
            (2, &[126.0, 130.0, 128.0]),
        ];
        let evidence = evidence_of(&space, &lines);
        let standings = standings(&space, &evidence, &[vec![1], vec![2]], Seed(1));
        let levels: Vec<&Levels> = standings.iter().map(|(levels, _)| levels).collect();
        assert_eq!(levels, [&vec![2]]);
        // On a machine that is as unstable itself, nothing is told from it.
        let lines: [(usize, &[f64]); 2] = [(0, &[100.0, 130.0, 80.0]), (1, &[190.0, 127.0, 160.0])];
        let evidence = evidence_of(&space, &lines);
        let setting = evidence.get(&[1]).unwrap();
        assert!(!is_unstable(&space, &evidence, setting));
    }
}
