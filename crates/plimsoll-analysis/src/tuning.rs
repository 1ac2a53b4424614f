//! The search for better settings: screen, race, confirm (docs/decisions/0502).
//!
//! Each block of trials holds the default, so the machine's drift can be taken out. The screen tries what usually suffices,
//! and spreads settings over the space; rounds of proposals follow, by a forest of trees; the best race until each has several values; changes of the
//! winner that cost nothing go back; and the rest is compared with the default in pairs. Only a gain whose lower bound
//! exceeds 3 % is adopted.
//!
//! Nothing here carries out a trial or reads a clock, and the search holds no state: all follows from the observations.

mod advised;
mod conclusion;
mod confirm;
mod course;
mod evidence;
mod forest;
mod further;
mod joint;
mod observation;
mod outcome;
mod propose;
mod race;
mod reference;
mod revert;
mod screen;
mod space;
pub mod table;

use std::collections::BTreeMap;

use plimsoll_model::seed::Seed;

use self::confirm::{ConfirmTrials, Confirmation};
use self::course::{Course, Stage};
pub use self::observation::{Guard, Observation, Phase, Score};
pub use self::outcome::{BestSetting, Rejected, RejectedWhy, RevertedKnob, TuneOutcome};
pub use self::space::{KNOBS_MAX, KnobSpace, LEVELS_MAX, Levels, Space};
use crate::experiment::order::{mirrored_order, random_order};

/// Labels of the seeds.
const COURSE: u64 = 0;
const ORDER: u64 = 1;
const BOOTSTRAP: u64 = 2;
const IMPORTANCE: u64 = 3;

/// How much a search may measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TuneLimits {
    /// Trials before the confirmation at most, with those of the default. A caller that is short of time may lower it
    /// during the search: the best by what is known is then confirmed at once.
    pub evaluations: usize,
    /// Rounds of proposals at most.
    pub rounds: usize,
    /// Further blocks for which there is time before the confirmation, as far as is known. Where they are few, half of the settings
    /// of a block go on from the best so far before all that is spread over the space was tried.
    pub blocks: usize,
    /// New settings of the next block at most, where there is no time for a whole one.
    pub settings: usize,
    /// Whether there is time for a block more than that: the best beside itself without all changes that hardly matter.
    pub reverts: bool,
}

impl TuneLimits {
    /// Eighty trials and twelve rounds, however long they take.
    pub const STANDARD: Self = Self {
        evaluations: 80,
        rounds: 12,
        blocks: usize::MAX,
        settings: propose::PROPOSED,
        reverts: true,
    };
}

/// What is to be measured next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A block of the search: settings in the order in which they are run, the default among them. A setting may occur
    /// twice.
    Search(Vec<Levels>),
    /// A block of the confirmation.
    Confirm {
        /// The setting that is compared with the default.
        candidate: Levels,
        /// True where a trial has the candidate, false where it has the default.
        order: [bool; 4],
    },
    /// The search has ended.
    Done,
}

/// A search over a space. It holds no results: each call gets all observations so far, so a search that was killed
/// continues as if it had not been.
#[derive(Clone, Debug)]
pub struct TuneSearch {
    space: Space,
    seed: Seed,
    limits: TuneLimits,
}

impl TuneSearch {
    /// A search of `space`. Equal seeds and observations give equal steps.
    pub fn new(space: Space, seed: Seed, limits: TuneLimits) -> Self {
        Self {
            space,
            seed,
            limits,
        }
    }

    /// The next block from all observations so far, of whole blocks. `feasible` is what the constraints allow; the default
    /// must be.
    pub fn next(&self, observations: &[Observation], feasible: &dyn Fn(&[usize]) -> bool) -> Step {
        let block = observations
            .iter()
            .map(|observation| observation.block + 1)
            .max()
            .unwrap_or(0);
        let course = self.course(observations);
        // A confirmation that has begun is carried on, whatever the limits are by now.
        let is_confirming = observations.iter().any(|it| it.phase == Phase::Confirm);
        let stage = if is_confirming {
            Stage::Confirm(course.candidates())
        } else {
            course.stage(self.limits, feasible)
        };
        let candidates = match stage {
            Stage::Search(settings) => return self.search_block(settings, block),
            Stage::Confirm(candidates) => candidates,
        };
        for candidate in candidates {
            match self.confirm_trials(observations, &candidate).state() {
                Confirmation::Open => {
                    let order = mirrored_order(block, self.seed.derive(ORDER));
                    return Step::Confirm {
                        candidate,
                        order: order.map(|side| side == 1),
                    };
                }
                Confirmation::Confirmed => break,
                Confirmation::Rejected(_) => {}
            }
        }
        Step::Done
    }

    /// Pairs of trials that the confirmation takes at least, by what is known so far: four where the gain of the best is
    /// plain, else six.
    pub fn pairs_needed(&self, observations: &[Observation]) -> usize {
        let (gain, deviation) = self.course(observations).best_gain();
        confirm::pairs_needed(gain, deviation)
    }

    /// Whether the last block raised the best by more than a trial varies, so that a further one may do the same.
    pub fn is_climbing(&self, observations: &[Observation]) -> bool {
        self.course(observations).is_climbing()
    }

    /// The best setting by what is known so far, which may be the default; `None` before the first line was measured.
    pub fn incumbent(&self, observations: &[Observation]) -> Option<Levels> {
        self.course(observations).incumbent()
    }

    /// The result so far.
    pub fn outcome(&self, observations: &[Observation]) -> TuneOutcome {
        conclusion::outcome(self, observations)
    }

    fn search_block(&self, mut settings: Vec<Levels>, block: u32) -> Step {
        settings.insert(0, self.space.default_levels());
        let order = random_order(settings.len(), block, self.seed.derive(ORDER));
        let ordered = order.into_iter().map(|index| settings[index].clone());
        Step::Search(ordered.collect())
    }

    fn course<'a>(&'a self, observations: &'a [Observation]) -> Course<'a> {
        Course::of(&self.space, self.seed.derive(COURSE), observations)
    }

    fn confirm_trials(&self, observations: &[Observation], candidate: &[usize]) -> ConfirmTrials {
        let default = self.space.default_levels();
        let seed = self.seed.derive(BOOTSTRAP);
        ConfirmTrials::of(observations, &default, candidate, seed)
    }
}

/// The trials of a phase by block, both ascending in time.
fn blocks(observations: &[Observation], phase: Phase) -> Vec<Vec<&Observation>> {
    let mut blocks: BTreeMap<u32, Vec<&Observation>> = BTreeMap::new();
    for observation in observations.iter().filter(|trial| trial.phase == phase) {
        blocks
            .entry(observation.block)
            .or_default()
            .push(observation);
    }
    for block in blocks.values_mut() {
        block.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    }
    blocks.into_values().collect()
}

#[cfg(test)]
mod tests;
