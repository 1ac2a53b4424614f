//! What is known of each setting: its lines as logarithms of the ratio to the default, without the machine's drift.

use std::collections::BTreeMap;

use plimsoll_model::seed::Seed;

use super::forest::{Forest, Sample};
use super::observation::{Observation, Score};
use super::reference::ReferenceLevel;
use super::space::{Levels, Space};
use crate::stats::line::mean;
use crate::stats::order::median;

/// A load that ended before the service did: the line is taken to be 10 % above it.
const BEYOND: f64 = 0.1;
/// A setting with which the service fails is taken to be 10 % below the worst line.
const PENALTY: f64 = 0.1;
/// Void trials of a setting after which it is not tried again.
const VOID_MAX: usize = 2;
/// What the forest says of a setting weighs as much as this many trials of it.
const FOREST_WEIGHT: f64 = 1.0;

/// What is known of a setting.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SettingEvidence {
    /// Logarithms of its line divided by the default's, in the order of the trials: of those beside which the default was
    /// measured. A line that was not reached counts as 10 % above what was carried.
    pub(super) values: Vec<f64>,
    /// Logarithms of what was carried in each trial, requests or users per second.
    pub(super) lines: Vec<f64>,
    /// The same divided by the default's, where that was measured.
    carried: Vec<f64>,
    /// Trials in which more than that may be carried: the load ended before the service did.
    unreached: usize,
    /// Trials in which the service failed.
    pub(super) failed: usize,
    /// Void trials.
    pub(super) void: usize,
}

impl SettingEvidence {
    /// Mean of its values; `None` without any.
    pub(super) fn mean(&self) -> Option<f64> {
        mean(&self.values)
    }

    /// Mean of what it carried by the default's, as a logarithm, and whether it may carry more; `None` where nothing was
    /// measured beside the default.
    pub(super) fn carried(&self) -> Option<(f64, bool)> {
        let mean = mean(&self.carried)?;
        Some((mean, self.unreached > 0))
    }

    /// Median of what it carried, requests or users per second.
    pub(super) fn line(&self) -> Option<f64> {
        median(&self.lines).map(f64::exp)
    }

    /// Difference of its highest and lowest value.
    pub(super) fn range(&self) -> f64 {
        let low = self.values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = self
            .values
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, f64::max);
        (high - low).max(0.0)
    }

    /// Standard deviation of its values; 0 with fewer than three.
    pub(super) fn deviation(&self) -> f64 {
        if self.values.len() < 3 {
            return 0.0;
        }
        (squares(&self.values) / (self.values.len() - 1) as f64).sqrt()
    }

    /// Adds a line beside a level of the default, a logarithm, where that was measured.
    fn add(&mut self, score: &Score, default: Option<f64>) {
        let (Some(carried), Some(expected)) = (log_carried(score), log_expected(score)) else {
            return;
        };
        self.lines.push(carried);
        self.unreached += usize::from(matches!(score, Score::AtLeast(_)));
        if let Some(default) = default {
            self.values.push(expected - default);
            self.carried.push(carried - default);
        }
    }

    /// Whether it is measured, failed, or cannot be measured.
    pub(super) fn is_settled(&self) -> bool {
        !self.lines.is_empty() || self.failed > 0 || self.void >= VOID_MAX
    }
}

/// What is known of all settings.
#[derive(Clone, Debug)]
pub(super) struct Evidence {
    settings: BTreeMap<Levels, SettingEvidence>,
    default: Levels,
}

impl Evidence {
    /// Of trials of the search.
    pub(super) fn of(space: &Space, observations: &[&Observation]) -> Self {
        let default = space.default_levels();
        let references = observations
            .iter()
            .filter(|observation| observation.levels == default)
            .filter_map(|observation| Some((observation.at_s, log_expected(&observation.score)?)));
        let reference = ReferenceLevel::of(references.collect());
        let mut settings: BTreeMap<Levels, SettingEvidence> = BTreeMap::new();
        for observation in observations {
            let setting = settings.entry(observation.levels.clone()).or_default();
            match observation.score {
                Score::Failed => setting.failed += 1,
                Score::Void => setting.void += 1,
                Score::Line(_) | Score::AtLeast(_) => {
                    setting.add(&observation.score, reference.at(observation.at_s));
                }
            }
        }
        Self { settings, default }
    }

    pub(super) fn get(&self, levels: &[usize]) -> Option<&SettingEvidence> {
        self.settings.get(levels)
    }

    /// Whether a setting is measured, failed, or cannot be measured.
    pub(super) fn is_settled(&self, levels: &[usize]) -> bool {
        self.get(levels).is_some_and(SettingEvidence::is_settled)
    }

    /// Values of a setting.
    pub(super) fn count(&self, levels: &[usize]) -> usize {
        self.get(levels).map_or(0, |setting| setting.values.len())
    }

    /// All settings that were tried, in the order of their levels.
    pub(super) fn settings(&self) -> impl Iterator<Item = (&Levels, &SettingEvidence)> {
        self.settings.iter()
    }

    /// Settings other than the default that were measured, beside the default or not.
    pub(super) fn measured(&self) -> impl Iterator<Item = &Levels> {
        let measured = self.settings.iter().filter(|(levels, setting)| {
            **levels != self.default && !setting.lines.is_empty() && setting.failed == 0
        });
        measured.map(|(levels, _)| levels)
    }

    /// Settings other than the default that were measured beside the default and never failed.
    pub(super) fn sound(&self) -> impl Iterator<Item = (&Levels, &SettingEvidence)> {
        self.settings.iter().filter(|(levels, setting)| {
            **levels != self.default && !setting.values.is_empty() && setting.failed == 0
        })
    }

    /// Whether the service failed in any trial.
    pub(super) fn has_failures(&self) -> bool {
        self.settings.values().any(|setting| setting.failed > 0)
    }

    /// The values, and the failures below the worst of them.
    pub(super) fn samples(&self) -> Vec<Sample> {
        let values = self.settings.values().flat_map(|setting| &setting.values);
        let worst = values.copied().fold(0.0, f64::min);
        let mut samples = Vec::new();
        for (levels, setting) in &self.settings {
            let failures = vec![worst - PENALTY; setting.failed];
            samples.extend(
                setting
                    .values
                    .iter()
                    .copied()
                    .chain(failures)
                    .map(|value| Sample {
                        levels: levels.clone(),
                        value,
                    }),
            );
        }
        samples
    }

    /// For each trial 1 where the service was measured, 0 where it failed.
    pub(super) fn successes(&self) -> Vec<Sample> {
        let mut samples = Vec::new();
        for (levels, setting) in &self.settings {
            let measured = vec![1.0; setting.lines.len()];
            let failed = vec![0.0; setting.failed];
            samples.extend(measured.into_iter().chain(failed).map(|value| Sample {
                levels: levels.clone(),
                value,
            }));
        }
        samples
    }

    /// A forest of all samples.
    pub(super) fn forest(&self, space: &Space, seed: Seed) -> Forest {
        Forest::fit(space, &self.samples(), seed)
    }

    /// Sound settings by what they are expected to carry, the best first: their mean, drawn towards what the forest says of
    /// them, because the best of many noisy values is mostly too high.
    pub(super) fn ranked(&self, forest: &Forest) -> Vec<(Levels, f64)> {
        let mut ranked: Vec<(Levels, f64)> = self
            .sound()
            .map(|(levels, setting)| (levels.clone(), expected(setting, forest, levels)))
            .collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        ranked
    }

    /// Standard deviation of a value, pooled over all settings with several; at least 1 %. `None` without degrees of
    /// freedom, else with their number.
    pub(super) fn deviation(&self) -> Option<(f64, usize)> {
        let (mut sum, mut degrees) = (0.0, 0);
        for setting in self.settings.values() {
            sum += squares(&setting.values);
            degrees += setting.values.len().saturating_sub(1);
        }
        (degrees > 0).then(|| ((sum / degrees as f64).sqrt().max(0.01), degrees))
    }
}

fn expected(setting: &SettingEvidence, forest: &Forest, levels: &[usize]) -> f64 {
    let count = setting.values.len() as f64;
    let sum: f64 = setting.values.iter().sum();
    (sum + FOREST_WEIGHT * forest.predict(levels).mean) / (count + FOREST_WEIGHT)
}

/// The logarithm of what was carried; `None` where nothing was measured or it has none.
pub(super) fn log_carried(score: &Score) -> Option<f64> {
    match *score {
        Score::Line(line) | Score::AtLeast(line) => Some(line.ln()).filter(|line| line.is_finite()),
        Score::Failed | Score::Void => None,
    }
}

/// The logarithm of the line that the search expects of a score: above what was carried where the load ended first.
fn log_expected(score: &Score) -> Option<f64> {
    let beyond = match score {
        Score::AtLeast(_) => BEYOND,
        Score::Line(_) | Score::Failed | Score::Void => 0.0,
    };
    Some(log_carried(score)? + beyond)
}

/// Sum of squared differences from the mean.
fn squares(values: &[f64]) -> f64 {
    let centre = mean(values).unwrap_or(0.0);
    values.iter().map(|value| (value - centre).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::super::space::tests::ordered;
    use super::*;

    fn observed(level: usize, score: Score) -> Observation {
        Observation {
            levels: vec![level],
            score,
            ..Observation::default()
        }
    }

    #[test]
    fn without_the_default_beside_it_a_line_is_no_ratio() {
        let space = Space::new(vec![ordered(3, 0)]);
        let observations = [observed(0, Score::Void), observed(1, Score::AtLeast(208.0))];
        let evidence = Evidence::of(&space, &observations.iter().collect::<Vec<_>>());
        let setting = evidence.get(&[1]).unwrap();
        assert!(setting.values.is_empty() && setting.carried().is_none());
        assert!((setting.line().unwrap() - 208.0).abs() < 1e-9);
        assert!(evidence.is_settled(&[1]) && !evidence.is_settled(&[0]));
        assert_eq!(evidence.sound().count(), 0);
    }

    #[test]
    fn what_was_not_reached_is_expected_above_what_was_carried() {
        let space = Space::new(vec![ordered(3, 0)]);
        let observations = [
            observed(0, Score::Line(100.0)),
            observed(1, Score::AtLeast(200.0)),
        ];
        let evidence = Evidence::of(&space, &observations.iter().collect::<Vec<_>>());
        let setting = evidence.get(&[1]).unwrap();
        let (carried, is_at_least) = setting.carried().unwrap();
        assert!(is_at_least && (carried - 2.0_f64.ln()).abs() < 1e-12);
        assert!(setting.mean().unwrap() > carried);
    }
}
