//! A search that is compared, as the comparison drives it: setting by setting.

use std::collections::{BTreeSet, VecDeque};

use anyhow::Result;
use plimsoll_analysis::tuning::{
    Guard, KnobSpace, Observation, Phase, Score, Space, Step, TuneLimits, TuneSearch,
};
use plimsoll_model::seed::Seed;
use plimsoll_testkit::surfaces::{ResponseSurface, Setting, SurfaceKnob};
use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// A trial that has been measured.
#[derive(Clone, Debug)]
pub(super) struct MeasuredTrial {
    pub(super) setting: Setting,
    /// Seconds from the begin of the search to its begin.
    pub(super) at_s: f64,
    /// Requests per second, `None` where the service failed.
    pub(super) line: Option<f64>,
}

/// A search.
pub(super) trait Proposer {
    /// The next setting to measure; `None` at the end of the search.
    fn propose(&mut self) -> Result<Option<Setting>>;

    /// Takes the result of the setting that was proposed last.
    fn learn(&mut self, trial: MeasuredTrial) -> Result<()>;

    /// The setting that it would choose if no trial followed.
    fn choice(&mut self) -> Setting;

    /// The setting that the service has after the search.
    fn result(&mut self) -> Setting {
        self.choice()
    }
}

/// The search of `plimsoll tune`.
pub(super) struct TuneProposer {
    search: TuneSearch,
    default: Setting,
    observations: Vec<Observation>,
    /// Trials of the block that is under way, each with what it is for.
    pending: VecDeque<(Setting, Phase)>,
    block: u32,
}

impl TuneProposer {
    pub(super) fn new(surface: &ResponseSurface, seed: Seed) -> Self {
        let knobs = surface.knobs().iter().map(|knob| KnobSpace {
            levels: knob.levels(),
            is_ordered: knob.is_ordered(),
            default: knob.default,
            usual: None,
        });
        let default = surface.default_setting();
        Self {
            search: TuneSearch::new(Space::new(knobs.collect()), seed, TuneLimits::STANDARD),
            pending: [(default.clone(), Phase::Baseline)].into(),
            default,
            observations: Vec::new(),
            block: 0,
        }
    }

    fn begin_block(&mut self) {
        self.block += 1;
        // Where a surface fails is learned: its memory is not known before.
        match self.search.next(&self.observations, &|_| true) {
            Step::Search(settings) => {
                let trials = settings.into_iter().map(|it| (it, Phase::Search));
                self.pending.extend(trials);
            }
            Step::Confirm { candidate, order } => {
                let trial = |is_candidate: bool| {
                    let setting = if is_candidate {
                        &candidate
                    } else {
                        &self.default
                    };
                    (setting.clone(), Phase::Confirm)
                };
                self.pending.extend(order.map(trial));
            }
            Step::Done => {}
        }
    }
}

impl Proposer for TuneProposer {
    fn propose(&mut self) -> Result<Option<Setting>> {
        if self.pending.is_empty() {
            self.begin_block();
        }
        Ok(self.pending.front().map(|(setting, _)| setting.clone()))
    }

    fn learn(&mut self, trial: MeasuredTrial) -> Result<()> {
        let phase = self.pending.pop_front().map(|(_, phase)| phase);
        self.observations.push(Observation {
            levels: trial.setting,
            block: self.block,
            at_s: trial.at_s,
            phase: phase.unwrap_or(Phase::Search),
            score: trial.line.map_or(Score::Failed, Score::Line),
            guard: Guard::default(),
        });
        Ok(())
    }

    fn choice(&mut self) -> Setting {
        let incumbent = self.search.incumbent(&self.observations);
        incumbent.unwrap_or_else(|| self.default.clone())
    }

    fn result(&mut self) -> Setting {
        let outcome = self.search.outcome(&self.observations);
        let adopted = outcome.best.filter(|_| outcome.adopt);
        adopted.map_or_else(|| self.default.clone(), |best| best.levels)
    }
}

/// Settings at random, none twice, after the default.
pub(super) struct RandomProposer {
    knobs: &'static [SurfaceKnob],
    random: Xoshiro256PlusPlus,
    tried: BTreeSet<Setting>,
    settings: usize,
    proposed: Setting,
    best: (Setting, f64),
}

impl RandomProposer {
    pub(super) fn new(surface: &ResponseSurface, seed: Seed) -> Self {
        let default = surface.default_setting();
        Self {
            knobs: surface.knobs(),
            random: seed.generator(),
            tried: BTreeSet::new(),
            settings: surface.settings(),
            proposed: default.clone(),
            best: (default, 0.0),
        }
    }
}

impl Proposer for RandomProposer {
    fn propose(&mut self) -> Result<Option<Setting>> {
        if self.tried.len() == self.settings {
            return Ok(None);
        }
        while self.tried.contains(&self.proposed) {
            let levels = self.knobs.iter().map(SurfaceKnob::levels);
            let random = &mut self.random;
            self.proposed = levels
                .map(|levels| random.random_range(0..levels))
                .collect();
        }
        self.tried.insert(self.proposed.clone());
        Ok(Some(self.proposed.clone()))
    }

    fn learn(&mut self, trial: MeasuredTrial) -> Result<()> {
        if let Some(line) = trial.line.filter(|line| *line > self.best.1) {
            self.best = (trial.setting, line);
        }
        Ok(())
    }

    fn choice(&mut self) -> Setting {
        self.best.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_testkit::surfaces;

    use super::*;

    fn measured(setting: Setting, line: Option<f64>) -> MeasuredTrial {
        MeasuredTrial {
            setting,
            at_s: 0.0,
            line,
        }
    }

    #[test]
    fn the_search_at_random_begins_with_the_default_and_repeats_nothing() {
        let surface = surfaces::all().min_by_key(|it| it.settings()).unwrap();
        let mut search = RandomProposer::new(surface, Seed(1));
        let mut tried = Vec::new();
        while let Some(setting) = search.propose().unwrap() {
            let line = (tried.len() != 3).then_some(tried.len() as f64 + 1.0);
            search.learn(measured(setting.clone(), line)).unwrap();
            tried.push(setting);
        }
        assert_eq!(tried.len(), surface.settings());
        assert_eq!(tried[0], surface.default_setting());
        assert_eq!(&search.choice(), tried.last().unwrap());
        let different: BTreeSet<_> = tried.iter().collect();
        assert_eq!(different.len(), tried.len());
    }

    #[test]
    fn our_search_measures_the_default_first_and_keeps_it_where_nothing_is_better() {
        let surface = surfaces::all().find(|it| it.is_without_gain()).unwrap();
        let mut search = TuneProposer::new(surface, Seed(1));
        let mut trials: u64 = 0;
        while let Some(setting) = search.propose().unwrap() {
            if trials == 0 {
                assert_eq!(setting, surface.default_setting());
            }
            let line = surface.measured(&setting, 0.0, Seed(1), trials);
            search.learn(measured(setting, line)).unwrap();
            trials += 1;
            assert!(trials < 300, "it does not end");
        }
        assert_eq!(search.result(), surface.default_setting());
    }
}
