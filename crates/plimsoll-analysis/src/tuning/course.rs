//! How far a search has come, from its observations alone: exploring, racing, reverting, confirming.
//!
//! The parts are told by what their blocks hold. Exploring blocks hold settings that were not measured before, those of the
//! race only such that were, and what follows holds the winner. So a search that was killed, or whose limits were lowered in
//! between, continues from what it knows.

use std::collections::BTreeSet;

use plimsoll_model::seed::Seed;

use super::TuneLimits;
use super::confirm::MARGIN;
use super::evidence::{Evidence, SettingEvidence};
use super::forest::Forest;
use super::further::further;
use super::joint::{JointReversion, is_joint, twice};
use super::observation::{Observation, Phase, Score};
use super::propose::{PROPOSED, proposals};
use super::race::{self, contenders, remaining, standings};
use super::revert::{self, Reversion, Reverted};
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
/// Settings whose gains, as logarithms, differ by less may carry the same: two deviations of a trial.
const TIE: f64 = 0.1;

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
    joint: Option<JointReversion>,
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
            joint: JointReversion::of(space, &blocks),
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
        if self.joint.is_some() {
            return Stage::Confirm(self.candidates());
        }
        if is_spent {
            return self.at_once(limits, feasible);
        }
        if self.explored == self.blocks.len() {
            let settings = self.exploring(limits, feasible);
            if !settings.is_empty() {
                return Stage::Search(settings);
            }
        }
        let contenders = self.contenders();
        let Some(race) = self.race(&contenders) else {
            let settings = remaining(self.space, &self.evidence, &contenders);
            if settings.is_empty() {
                return Stage::Confirm(self.candidates());
            }
            return Stage::Search(settings);
        };
        let settings = self.reverting(&race, feasible);
        if settings.is_empty() {
            return Stage::Confirm(self.candidates());
        }
        Stage::Search(settings)
    }

    /// What comes when there is no time for more of the race: the best beside itself without all changes that hardly matter,
    /// if there is time for that, and then the confirmation.
    fn at_once(&self, limits: TuneLimits, feasible: Feasible<'_>) -> Stage {
        let contenders = self.contenders();
        let race = self.race(&contenders);
        // Where single changes are measured, they tell which go back.
        let singles = race.as_ref().map(|race| self.reverting(race, feasible));
        let settings = match singles {
            Some(settings) if settings.is_empty() || is_joint(self.space, &settings) => settings,
            _ => self.without_minor_changes(&contenders, feasible),
        };
        if settings.is_empty() || !limits.reverts {
            return Stage::Confirm(self.candidates());
        }
        Stage::Search(settings)
    }

    /// The best so far, and that of the others which cannot be told from it with the fewest changes, or else it without the
    /// changes that hardly matter, each twice; nothing where none can go back.
    fn without_minor_changes(&self, contenders: &[Levels], feasible: Feasible<'_>) -> Vec<Levels> {
        let standings = self.standings(self.blocks.len(), contenders);
        let Some(((winner, best), others)) = standings.split_first() else {
            return Vec::new();
        };
        if !is_gain(*best) {
            return Vec::new();
        }
        let changes = |levels: &Levels| self.space.changed(levels).len();
        let alike = others.iter().filter(|(levels, gain)| {
            best - gain < TIE && changes(levels) < changes(winner) && is_gain(*gain)
        });
        let simpler = alike.map(|(levels, _)| levels).min_by_key(|it| changes(it));
        let without = || revert::without_minor_changes(self.space, winner, &self.forest);
        let without = simpler.cloned().or_else(without);
        let without = without.filter(|levels| feasible(levels));
        without.map_or_else(Vec::new, |without| twice(winner, without))
    }

    /// The settings to be confirmed, by what is known so far: the winner, without the changes that cost nothing, and the
    /// second. Only such that are expected to exceed the margin.
    pub(super) fn candidates(&self) -> Vec<Levels> {
        let contenders = self.contenders();
        let race = self.race(&contenders);
        let standings = match &race {
            Some(race) => race.standings.clone(),
            None => self.standings(self.end_of_singles(), &contenders),
        };
        let better = standings.into_iter().filter(|(_, gain)| is_gain(*gain));
        let mut candidates: Vec<Levels> = better.map(|(levels, _)| levels).take(2).collect();
        let reverted = self.reverted(race.as_ref());
        if let (Some((without, _)), [winner, ..]) = (reverted, candidates.as_mut_slice()) {
            *winner = without;
        }
        candidates.dedup();
        candidates
    }

    /// The changes of the winner that went back, with what that costs as a logarithm.
    pub(super) fn reverted_knobs(&self) -> Reverted {
        let race = self.race(&self.contenders());
        let reverted = self.reverted(race.as_ref());
        reverted.map(|(_, knobs)| knobs).unwrap_or_default()
    }

    /// The changes of a setting of several that nothing shows to matter: without one of them alone it was not measured, or
    /// carried as much; the change alone was not measured to gain most of it; and the forest, where the search had time to learn, does
    /// not tell it from the others.
    pub(super) fn unshown(&self, levels: &[usize]) -> Vec<usize> {
        let mut changed = self.space.changed(levels);
        if changed.len() < 2 {
            return Vec::new();
        }
        let is_raced = self.race(&self.contenders()).is_some();
        let all = changed.clone();
        let gain = |levels: &[usize]| self.evidence.get(levels).and_then(SettingEvidence::mean);
        let most = gain(levels).map_or(f64::INFINITY, |gain| gain / 2.0);
        changed.retain(|&knob| {
            let others: Vec<usize> = all.iter().copied().filter(|it| *it != knob).collect();
            let alone = gain(&self.space.reverted(levels, &others));
            let is_most = alone.is_some_and(|alone| alone > most.max(TIE));
            let without = self.space.reverted(levels, &[knob]);
            let (evidence, forest) = (&self.evidence, &self.forest);
            !is_most && revert::is_unshown(evidence, forest, levels, &without, is_raced)
        });
        changed
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

    /// What the best setting is expected to gain, and the deviation of a trial: logarithms, 0 where they are not known.
    pub(super) fn best_gain(&self) -> (f64, f64) {
        let ranked = self.evidence.ranked(&self.forest);
        let gain = ranked.first().map_or(0.0, |(_, gain)| *gain);
        let deviation = self.evidence.deviation();
        (gain, deviation.map_or(0.0, |(deviation, _)| deviation))
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
        let mut pending: Vec<Levels> = unsettled.cloned().collect();
        if !pending.is_empty() {
            if self.is_mixed(pending.len(), limits) {
                let mut settings = self.proposed(limits, feasible);
                settings.truncate(limits.settings / 2);
                pending.retain(|levels| !settings.contains(levels));
                settings.append(&mut pending);
                pending = settings;
            }
            pending.truncate(limits.settings);
            return pending;
        }
        let rounds = self.rounds(&screen);
        let enough = self.evaluations() + PROPOSED + 1 + RESERVE > limits.evaluations;
        if enough || rounds >= limits.rounds || self.is_stagnant(rounds) {
            return Vec::new();
        }
        self.proposed(limits, feasible)
    }

    /// Whether the rest of the screen, of so many settings, would take more than half of the time that is left, while there is a gain
    /// from which the search can go on: then half of each block does.
    fn is_mixed(&self, pending: usize, limits: TuneLimits) -> bool {
        limits.blocks < 2 * pending.div_ceil(PROPOSED) && is_gain(self.best_gain().0)
    }

    /// The settings of a round. Where there is no time for as many rounds as a search has at least, the first of them lies as far
    /// again from the default as the best.
    fn proposed(&self, limits: TuneLimits, feasible: Feasible<'_>) -> Vec<Levels> {
        let seed = self.seed.derive(PROPOSALS).derive(self.blocks.len() as u64);
        let mut settings = proposals(self.space, &self.evidence, seed, feasible);
        let beyond = self.further(feasible);
        if let Some(beyond) = beyond.filter(|_| limits.blocks < ROUNDS_MIN) {
            settings.retain(|levels| *levels != beyond);
            settings.insert(0, beyond);
        }
        settings.truncate(limits.settings);
        settings
    }

    /// As far again from the default as the best so far, where that is a gain and was not tried.
    fn further(&self, feasible: Feasible<'_>) -> Option<Levels> {
        let ranked = self.evidence.ranked(&self.forest);
        let (best, _) = ranked.first().filter(|(_, gain)| is_gain(*gain))?;
        further(self.space, best, feasible).filter(|levels| !self.evidence.is_settled(levels))
    }

    /// Blocks of proposals so far.
    fn rounds(&self, screen: &[Levels]) -> usize {
        let is_screening =
            |block: &&Vec<&Observation>| block.iter().any(|trial| screen.contains(&trial.levels));
        self.blocks.len() - self.blocks.iter().filter(is_screening).count()
    }

    /// Whether the last rounds hardly improved the best.
    fn is_stagnant(&self, rounds: usize) -> bool {
        rounds >= ROUNDS_MIN && self.improvement(ROUNDS_STAGNANT) < IMPROVEMENT_MIN
    }

    /// Whether the last block raised the best by more than a trial varies.
    pub(super) fn is_climbing(&self) -> bool {
        self.joint.is_none() && self.improvement(1) > TIE
    }

    /// By how much the settings that so many blocks at the end tried first raised the best, a logarithm.
    fn improvement(&self, blocks: usize) -> f64 {
        let before = self.blocks.len().saturating_sub(blocks);
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
        best(&|_| true) - best(&|levels| known.contains(levels))
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
        let end = self.end_of_singles();
        let is_decided = |blocks: &usize| {
            let evidence = self.evidence_of(&self.blocks[..*blocks]);
            *blocks >= self.explored + race::BLOCKS_MAX
                || remaining(self.space, &evidence, contenders).is_empty()
        };
        let blocks = (self.explored..=end).find(is_decided)?;
        let evidence = self.evidence_of(&self.blocks[..blocks]);
        let seed = self.forest_seed(blocks);
        let standings = standings(self.space, &evidence, contenders, seed);
        let better = standings.first().filter(|(_, gain)| is_gain(*gain));
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
        if self.joint.is_some() {
            return Vec::new();
        }
        let blocks = &self.blocks[race.blocks..];
        let evidence = self.evidence_of(blocks);
        let mut settings = reversion.unmeasured(&evidence, blocks.len());
        settings.retain(|levels| feasible(levels));
        if !settings.is_empty() {
            settings.push(winner.clone());
            return settings;
        }
        let cheap = reversion.cheap(&evidence, &self.forest);
        match reversion.without(&cheap) {
            Some(without) if feasible(&without) => twice(winner, without),
            _ => Vec::new(),
        }
    }

    /// Blocks until the winner ran beside itself without several changes.
    fn end_of_singles(&self) -> usize {
        let joint = self.joint.as_ref();
        joint.map_or(self.blocks.len(), |joint| joint.block)
    }

    /// The winner without the changes that cost nothing, and these; `None` unless it was measured and carries as much.
    fn reverted(&self, race: Option<&RaceResult<'_>>) -> Option<(Levels, Reverted)> {
        let joint = self.joint.as_ref()?;
        let by_singles = race.and_then(|race| self.reverted_by_singles(race, joint));
        let (reverted, evidence) = by_singles.unwrap_or_else(|| {
            // The luck by which the winner won does not count, so its earlier trials do not.
            let evidence = self.evidence_of(&self.blocks[joint.block..]);
            let (winner, without) = (&joint.winner, &joint.without);
            let reverted = revert::together(self.space, &evidence, &self.forest, (winner, without));
            (reverted, evidence)
        });
        let is_as_good = revert::is_as_good(
            &evidence,
            &self.forest,
            (&joint.winner, &joint.without),
            reverted.len(),
        );
        is_as_good.then(|| (joint.without.clone(), reverted))
    }

    /// The changes that cost nothing one by one, and the trials since the race; `None` where others were taken back.
    fn reverted_by_singles(
        &self,
        race: &RaceResult<'_>,
        joint: &JointReversion,
    ) -> Option<(Reverted, Evidence)> {
        let reversion = race.reversion.as_ref()?;
        let singles = self.evidence_of(&self.blocks[race.blocks..joint.block]);
        let before = self
            .evidence_of(&self.blocks[..joint.block])
            .forest(self.space, self.forest_seed(joint.block));
        let cheap = reversion.cheap(&singles, &before);
        let is_same = reversion.winner() == joint.winner
            && reversion.without(&cheap).as_ref() == Some(&joint.without);
        is_same.then(|| (cheap, self.evidence_of(&self.blocks[race.blocks..])))
    }
}

/// Whether a gain, as a logarithm, exceeds the margin.
fn is_gain(gain: f64) -> bool {
    gain > MARGIN.ln_1p()
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
