//! The course of a search on a surface: how soon it finds the best setting, and what it leaves.

use std::fmt;
use std::time::Duration;

use anyhow::Result;
use plimsoll_harness::clock::Stopwatch;
use plimsoll_model::seed::Seed;
use plimsoll_testkit::surfaces::{BestOfSurface, ResponseSurface};

use super::proposer::{MeasuredTrial, Proposer};

/// A setting is as good as the best if it carries this share of its line.
const GOOD_SHARE: f64 = 0.95;
/// What a trial takes, with everything between two, seconds.
const TRIAL_S: f64 = 60.0;

/// A surface with its best setting.
pub(super) struct KnownSurface {
    pub(super) surface: &'static ResponseSurface,
    pub(super) best: BestOfSurface,
}

/// What a search did.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Course {
    /// Id of the surface.
    pub(super) surface: &'static str,
    /// Trials until one had a good setting.
    pub(super) tried: Option<u64>,
    /// Trials until it would have chosen a good setting.
    pub(super) chosen: Option<u64>,
    /// All its trials.
    pub(super) trials: u64,
    /// The line of the setting that it leaves, as a share of the best.
    pub(super) share: f64,
    /// Whether it leaves the default.
    pub(super) keeps_default: bool,
    /// What the search computed for.
    pub(super) computed: Duration,
}

impl KnownSurface {
    pub(super) fn new(surface: &'static ResponseSurface) -> Self {
        Self {
            surface,
            best: surface.best(),
        }
    }

    /// What the best setting carries over the default: 1 without a gain.
    pub(super) fn gain(&self) -> f64 {
        let default = self.surface.default_setting();
        let default = self.surface.line(&default, 0.0);
        default.map_or(f64::INFINITY, |line| self.best.line / line)
    }

    /// The line of a setting as a share of the best: 0 where it fails.
    fn share(&self, setting: &[usize]) -> f64 {
        let line = self.surface.line(setting, 0.0);
        line.unwrap_or_default() / self.best.line
    }

    /// Lets a search run to its end, or for so many trials. Equal seeds give equal noise, trial by trial.
    pub(super) fn run(
        &self,
        search: &mut dyn Proposer,
        noise: Seed,
        trials_max: u64,
    ) -> Result<Course> {
        let (mut tried, mut chosen, mut trials) = (None, None, 0);
        let mut computed = Duration::ZERO;
        while trials < trials_max {
            let watch = Stopwatch::start();
            let Some(setting) = search.propose()? else {
                break;
            };
            computed += watch.elapsed();
            let at_s = trials as f64 * TRIAL_S;
            let line = self.surface.measured(&setting, at_s, noise, trials);
            trials += 1;
            if self.share(&setting) >= GOOD_SHARE {
                tried.get_or_insert(trials);
            }
            let trial = MeasuredTrial {
                setting,
                at_s,
                line,
            };
            let watch = Stopwatch::start();
            search.learn(trial)?;
            computed += watch.elapsed();
            if chosen.is_none() && self.share(&search.choice()) >= GOOD_SHARE {
                chosen = Some(trials);
            }
        }
        let result = search.result();
        Ok(Course {
            surface: self.surface.id(),
            tried,
            chosen,
            trials,
            share: self.share(&result),
            keeps_default: result == self.surface.default_setting(),
            computed,
        })
    }
}

impl Course {
    /// Whether it leaves a setting that is as good as the best.
    pub(super) fn is_good(&self) -> bool {
        self.share >= GOOD_SHARE
    }

    /// Whether it would have chosen a good setting after so many trials.
    pub(super) fn is_reached_by(&self, trials: u64) -> bool {
        self.chosen.is_some_and(|chosen| chosen <= trials)
    }

    /// Milliseconds that it computed for, per trial.
    pub(super) fn computed_ms(&self) -> f64 {
        self.computed.as_secs_f64() * 1e3 / self.trials.max(1) as f64
    }
}

impl fmt::Display for Course {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown =
            |trials: Option<u64>| trials.map_or_else(|| "–".to_owned(), |it| it.to_string());
        write!(
            f,
            "{}: tried after {}, chosen after {} of {} trials, {:.3} left, {:.1} ms a trial",
            self.surface,
            shown(self.tried),
            shown(self.chosen),
            self.trials,
            self.share,
            self.computed_ms()
        )
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_testkit::surfaces::{self, Setting};

    use super::*;

    /// Measures these settings and chooses the last of them.
    struct Script(Vec<Setting>, usize);

    impl Proposer for Script {
        fn propose(&mut self) -> Result<Option<Setting>> {
            Ok(self.0.get(self.1).cloned())
        }

        fn learn(&mut self, trial: MeasuredTrial) -> Result<()> {
            assert!((trial.at_s - self.1 as f64 * TRIAL_S).abs() < 1e-9);
            self.1 += 1;
            Ok(())
        }

        fn choice(&mut self) -> Setting {
            self.0[self.1.saturating_sub(2)].clone()
        }
    }

    #[test]
    fn a_course_counts_until_a_good_setting_is_tried_and_chosen() {
        let surface = surfaces::all().find(|it| !it.is_without_gain()).unwrap();
        let known = KnownSurface::new(surface);
        let (default, best) = (surface.default_setting(), known.best.setting.clone());
        let run = |settings: Vec<Setting>, trials_max: u64| {
            known
                .run(&mut Script(settings, 0), Seed(1), trials_max)
                .unwrap()
        };
        let course = run(vec![default.clone(), best.clone(), best.clone()], 10);
        assert_eq!(
            (course.tried, course.chosen, course.trials),
            (Some(2), Some(3), 3)
        );
        assert!(!course.keeps_default && course.share >= GOOD_SHARE);
        let course = run(vec![default.clone(), default.clone(), best], 2);
        assert_eq!(
            (course.tried, course.chosen, course.trials),
            (None, None, 2)
        );
        assert!(course.keeps_default);
        assert!((course.share - 1.0 / known.gain()).abs() < 1e-12);
    }
}
