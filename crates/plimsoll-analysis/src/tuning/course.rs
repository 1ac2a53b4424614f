//! How far a search has come, from its observations alone: exploring, racing, reverting, confirming.
//!
//! The parts are told by what their blocks hold. Exploring blocks hold settings that were not measured before, those of the
//! race only such that were, and what follows holds the winner. So a search that was killed, or whose limits were lowered in
//! between, continues from what it knows.

use std::collections::BTreeSet;

use plimsoll_model::seed::Seed;

use super::TuneLimits;
use super::confirm::MARGIN;
use super::evidence::Evidence;
use super::forest::Forest;
use super::observation::{Observation, Phase, Score};
use super::propose::{PROPOSED, proposals};
use super::race::{self, contenders, remaining, standings};
use super::revert::{Reversion, Reverted};
use super::screen::screened;
use super::space::{Feasible, Levels, Space};

/// Trials that the race and the reversions take, which exploring leaves.
const RESERVE: usize = 20;
/// Rounds of proposals before a search may stop because it does not get better ...
const ROUNDS_MIN: usize = 6;
/// ... by at least this, as a logarithm, ...
const IMPROVEMENT_MIN: f64 = 0.01;
/// ... in as many rounds.
const ROUNDS_STAGNANT: usize = 2;

/// Labels of the seeds.
const SCREEN: u64 = 0;
const FORESTS: u64 = 1;
const PROPOSALS: u64 = 2;

/// What comes next.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stage {
    /// A block of these settings, beside the default.
    Search(Vec<Levels>),
    /// The candidates to be confirmed, the best first; none when the default is kept.
    Confirm(Vec<Levels>),
}

/// A search so far.
#[derive(Debug)]
pub(super) struct Course<'a> {
    space: &'a Space,
    seed: Seed,
    /// Blocks of the search, ascending in time.
    blocks: Vec<Vec<&'a Observation>>,
    /// Blocks at the beginning that explored.
    explored: usize,
    /// What is known of all settings.
    evidence: Evidence,
    forest: Forest,
}

/// The end of the race.
#[derive(Debug)]
struct RaceResult<'a> {
    /// Blocks until then.
    blocks: usize,
    /// The best settings, the best first.
    standings: Vec<(Levels, f64)>,
    reversion: Option<Reversion<'a>>,
}

impl<'a> Course<'a> {
    pub(super) fn of(space: &'a Space, seed: Seed, observations: &'a [Observation]) -> Self {
        let blocks = super::blocks(observations, Phase::Search);
        let all: Vec<&Observation> = blocks.iter().flatten().copied().collect();
        let evidence = Evidence::of(space, &all);
        let forest = evidence.forest(space, seed.derive(FORESTS).derive(blocks.len() as u64));
        Self {
            space,
            seed,
            explored: explored(space, &blocks),
            blocks,
            evidence,
            forest,
        }
    }

    pub(super) fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    pub(super) fn forest(&self) -> &Forest {
        &self.forest
    }

    /// What comes next.
    pub(super) fn stage(&self, limits: TuneLimits, feasible: Feasible<'_>) -> Stage {
        let is_spent = self.evaluations() >= limits.evaluations;
        if self.explored == self.blocks.len() && !is_spent {
            let settings = self.exploring(limits, feasible);
            if !settings.is_empty() {
                return Stage::Search(settings);
            }
        }
        let contenders = self.contenders();
        let Some(race) = self.race(&contenders) else {
            let settings = remaining(self.space, &self.evidence, &contenders);
            if is_spent || settings.is_empty() {
                return Stage::Confirm(self.candidates());
            }
            return Stage::Search(settings);
        };
        let settings = self.reverting(&race, feasible);
        if is_spent || settings.is_empty() {
            return Stage::Confirm(self.candidates());
        }
        Stage::Search(settings)
    }

    /// The settings to be confirmed, by what is known so far: the winner, without the changes that cost nothing, and the
    /// second. Only such that are expected to exceed the margin.
    pub(super) fn candidates(&self) -> Vec<Levels> {
        let contenders = self.contenders();
        let race = self.race(&contenders);
        let standings = match &race {
            Some(race) => race.standings.clone(),
            None => self.standings(self.blocks.len(), &contenders),
        };
        let better = standings
            .into_iter()
            .filter(|(_, gain)| *gain > MARGIN.ln_1p());
        let mut candidates: Vec<Levels> = better.map(|(levels, _)| levels).take(2).collect();
        let reverted = race.as_ref().and_then(|race| self.reverted(race));
        if let (Some((without, _)), [winner, ..]) = (reverted, candidates.as_mut_slice()) {
            *winner = without;
        }
        candidates.dedup();
        candidates
    }

    /// The changes of the winner that went back, with the cost of each as a logarithm.
    pub(super) fn reverted_knobs(&self) -> Reverted {
        let race = self.race(&self.contenders());
        let reverted = race.and_then(|race| self.reverted(&race));
        reverted.map(|(_, knobs)| knobs).unwrap_or_default()
    }

    /// The setting that is the best by what is known so far; `None` when nothing was measured. It may be the default.
    pub(super) fn incumbent(&self) -> Option<Levels> {
        if let Some(first) = self.candidates().into_iter().next() {
            return Some(first);
        }
        let default = self.space.default_levels();
        let best = self.evidence.ranked(&self.forest).into_iter().next();
        match best {
            Some((levels, gain)) if gain > 0.0 || self.evidence.count(&default) == 0 => {
                Some(levels)
            }
            _ => (self.evidence.count(&default) > 0).then_some(default),
        }
    }

    fn evaluations(&self) -> usize {
        self.blocks.iter().map(Vec::len).sum()
    }

    fn evidence_of(&self, blocks: &[Vec<&Observation>]) -> Evidence {
        let trials: Vec<&Observation> = blocks.iter().flatten().copied().collect();
        Evidence::of(self.space, &trials)
    }

    /// Seed of the forest after a number of blocks.
    fn forest_seed(&self, blocks: usize) -> Seed {
        self.seed.derive(FORESTS).derive(blocks as u64)
    }

    /// New settings of the screen, then of the rounds; none when exploring is over.
    fn exploring(&self, limits: TuneLimits, feasible: Feasible<'_>) -> Vec<Levels> {
        let screen = screened(self.space, self.seed.derive(SCREEN), feasible);
        let unsettled = screen
            .iter()
            .filter(|levels| !self.evidence.is_settled(levels));
        let pending: Vec<Levels> = unsettled.take(PROPOSED).cloned().collect();
        if !pending.is_empty() {
            return pending;
        }
        let rounds = self.rounds(&screen);
        let enough = self.evaluations() + PROPOSED + 1 + RESERVE > limits.evaluations;
        if enough || rounds >= limits.rounds || self.is_stagnant(rounds) {
            return Vec::new();
        }
        let seed = self.seed.derive(PROPOSALS).derive(self.blocks.len() as u64);
        proposals(self.space, &self.evidence, seed, feasible)
    }

    /// Blocks of proposals so far.
    fn rounds(&self, screen: &[Levels]) -> usize {
        let is_screening =
            |block: &&Vec<&Observation>| block.iter().any(|trial| screen.contains(&trial.levels));
        self.blocks.len() - self.blocks.iter().filter(is_screening).count()
    }

    /// Whether the last rounds hardly improved the best.
    fn is_stagnant(&self, rounds: usize) -> bool {
        if rounds < ROUNDS_MIN {
            return false;
        }
        let before = self.blocks.len() - ROUNDS_STAGNANT;
        let known: BTreeSet<&Levels> = self.blocks[..before]
            .iter()
            .flatten()
            .map(|trial| &trial.levels)
            .collect();
        let best = |is_counted: &dyn Fn(&Levels) -> bool| {
            let counted = self
                .evidence
                .sound()
                .filter(|(levels, _)| is_counted(levels));
            counted
                .filter_map(|(_, setting)| setting.mean())
                .fold(0.0, f64::max)
        };
        best(&|_| true) - best(&|levels| known.contains(levels)) < IMPROVEMENT_MIN
    }

    /// The settings that race, from what was explored.
    fn contenders(&self) -> Vec<Levels> {
        let evidence = self.evidence_of(&self.blocks[..self.explored]);
        contenders(self.space, &evidence, self.forest_seed(self.explored))
    }

    fn standings(&self, blocks: usize, contenders: &[Levels]) -> Vec<(Levels, f64)> {
        let evidence = self.evidence_of(&self.blocks[..blocks]);
        standings(self.space, &evidence, contenders, self.forest_seed(blocks))
    }

    /// The end of the race; `None` while it is going on.
    fn race(&self, contenders: &[Levels]) -> Option<RaceResult<'a>> {
        let is_decided = |blocks: &usize| {
            let evidence = self.evidence_of(&self.blocks[..*blocks]);
            *blocks >= self.explored + race::BLOCKS_MAX
                || remaining(self.space, &evidence, contenders).is_empty()
        };
        let blocks = (self.explored..=self.blocks.len()).find(is_decided)?;
        let evidence = self.evidence_of(&self.blocks[..blocks]);
        let seed = self.forest_seed(blocks);
        let standings = standings(self.space, &evidence, contenders, seed);
        let better = standings.first().filter(|(_, gain)| *gain > MARGIN.ln_1p());
        let reversion = better.map(|(winner, _)| {
            Reversion::of(self.space, winner, &evidence.forest(self.space, seed))
        });
        Some(RaceResult {
            blocks,
            standings,
            reversion,
        })
    }

    /// The winner without changes, as far as it has to be measured.
    fn reverting(&self, race: &RaceResult<'_>, feasible: Feasible<'_>) -> Vec<Levels> {
        let (Some(reversion), Some((winner, _))) = (&race.reversion, race.standings.first()) else {
            return Vec::new();
        };
        let end = self.end_of_singles(race.blocks, winner);
        if end < self.blocks.len() {
            return Vec::new();
        }
        let evidence = self.evidence_of(&self.blocks[race.blocks..end]);
        let mut settings = reversion.unmeasured(&evidence, end - race.blocks);
        settings.retain(|levels| feasible(levels));
        if !settings.is_empty() {
            settings.push(winner.clone());
            return settings;
        }
        let cheap = reversion.cheap(&evidence, &self.forest);
        match reversion.without(&cheap) {
            Some(without) if feasible(&without) => {
                vec![winner.clone(), without.clone(), winner.clone(), without]
            }
            _ => Vec::new(),
        }
    }

    /// Blocks until the winner ran twice in a block: beside itself without several changes.
    fn end_of_singles(&self, start: usize, winner: &Levels) -> usize {
        let is_joint = |block: &Vec<&Observation>| {
            block.iter().filter(|trial| trial.levels == *winner).count() > 1
        };
        let later = self.blocks[start..].iter().position(is_joint);
        later.map_or(self.blocks.len(), |offset| start + offset)
    }

    /// The winner without the changes that cost nothing, and these; `None` unless it was measured and carries as much.
    fn reverted(&self, race: &RaceResult<'_>) -> Option<(Levels, Reverted)> {
        let (reversion, (winner, _)) = (race.reversion.as_ref()?, race.standings.first()?);
        let end = self.end_of_singles(race.blocks, winner);
        if end == self.blocks.len() {
            return None;
        }
        let singles = self.evidence_of(&self.blocks[race.blocks..end]);
        let before = self
            .evidence_of(&self.blocks[..end])
            .forest(self.space, self.forest_seed(end));
        let cheap = reversion.cheap(&singles, &before);
        let without = reversion.without(&cheap)?;
        let evidence = self.evidence_of(&self.blocks[race.blocks..]);
        reversion
            .is_as_good(&evidence, &self.forest, &without, &cheap)
            .then_some((without, cheap))
    }
}

/// Blocks at the beginning whose settings had not been measured before.
fn explored(space: &Space, blocks: &[Vec<&Observation>]) -> usize {
    let mut known: BTreeSet<&Levels> = BTreeSet::new();
    for (index, block) in blocks.iter().enumerate() {
        let others = block
            .iter()
            .filter(|trial| !space.is_default(&trial.levels));
        let (mut has_others, mut is_new) = (false, true);
        for trial in others {
            has_others = true;
            is_new &= !known.contains(&trial.levels);
        }
        if has_others && !is_new {
            return index;
        }
        let results = block.iter().filter(|trial| trial.score != Score::Void);
        known.extend(results.map(|trial| &trial.levels));
    }
    blocks.len()
}
