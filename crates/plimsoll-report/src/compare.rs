//! What `plimsoll compare` prints: a sentence, one object as JSON, tables on the terminal, and a page.

mod capacity;
mod chart;
mod object;
mod page;
mod sentence;
mod text;

use std::path::PathBuf;

use plimsoll_analysis::experiment::comparison::ranking::{self, RankedSide};
use plimsoll_analysis::experiment::comparison::usual_rules::RuleVerdict;
use plimsoll_analysis::experiment::comparison::{Comparison, ComparisonVerdict};

use crate::report::Report;

pub use object::{CompareObject, schema};
pub use page::render;
pub use sentence::answer;
pub use text::summary;

/// A run, or all trials, on a side of a comparison.
#[derive(Clone, Debug)]
pub struct ComparedSide<'a> {
    /// Its short name.
    pub name: String,
    /// The run file; `None` where there are several.
    pub run_file: Option<PathBuf>,
    /// The run, or the last one of the trials; `None` where no trial was recorded.
    pub report: Option<Report<'a>>,
}

/// Blocks of a comparison that ran trials in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockCounts {
    /// Blocks that count.
    pub valid: usize,
    /// Blocks that do not, because a trial in them was void or failed.
    pub void: usize,
    /// Trials of the baseline and the candidate in which the service failed.
    pub failed: (usize, usize),
}

/// A baseline and its candidates.
#[derive(Clone, Debug)]
pub struct ComparedRuns<'a> {
    baseline: ComparedSide<'a>,
    candidates: Vec<(ComparedSide<'a>, Comparison)>,
    blocks: Option<BlockCounts>,
    usual: Vec<RuleVerdict>,
    is_across_machines: bool,
}

impl<'a> ComparedRuns<'a> {
    /// A baseline with its first candidate.
    pub fn new(
        baseline: ComparedSide<'a>,
        candidate: ComparedSide<'a>,
        comparison: Comparison,
    ) -> Self {
        Self {
            baseline,
            candidates: vec![(candidate, comparison)],
            blocks: None,
            usual: Vec::new(),
            is_across_machines: false,
        }
    }

    /// With a further candidate.
    #[must_use]
    pub fn with_candidate(mut self, candidate: ComparedSide<'a>, comparison: Comparison) -> Self {
        self.candidates.push((candidate, comparison));
        self
    }

    /// With the blocks of trials that it is made of.
    #[must_use]
    pub fn with_blocks(self, blocks: BlockCounts) -> Self {
        Self {
            blocks: Some(blocks),
            ..self
        }
    }

    /// With what rules in common use conclude from the same trials.
    #[must_use]
    pub fn beside(self, usual: Vec<RuleVerdict>) -> Self {
        Self { usual, ..self }
    }

    /// Between classes of machines, on purpose.
    #[must_use]
    pub fn across_machines(self) -> Self {
        Self {
            is_across_machines: true,
            ..self
        }
    }

    /// The candidate that decides the verdict of the whole: the first with the worst one.
    fn deciding(&self) -> &(ComparedSide<'a>, Comparison) {
        let rank = |comparison: &Comparison| match comparison.verdict() {
            ComparisonVerdict::Incomparable => 0,
            ComparisonVerdict::Undecided if !comparison.void().is_empty() => 1,
            ComparisonVerdict::Worse => 2,
            ComparisonVerdict::Undecided => 3,
            ComparisonVerdict::Same => 4,
            ComparisonVerdict::Better => 5,
        };
        self.candidates
            .iter()
            .min_by_key(|(_, comparison)| rank(comparison))
            .expect("a comparison has a candidate")
    }

    /// The verdict of the whole: the worst of the candidates.
    pub fn verdict(&self) -> ComparisonVerdict {
        self.deciding().1.verdict()
    }

    /// Whether the candidate that decides has void data.
    pub fn is_void(&self) -> bool {
        !self.deciding().1.void().is_empty()
    }

    /// Whether it is between classes of machines, where no result is a regression.
    pub fn is_across_machines(&self) -> bool {
        self.is_across_machines
    }

    fn ranking(&self) -> Vec<RankedSide> {
        let comparisons: Vec<Comparison> = self
            .candidates
            .iter()
            .map(|(_, comparison)| comparison.clone())
            .collect();
        ranking::ranked(&comparisons)
    }

    fn name_of(&self, side: &RankedSide) -> &str {
        let candidate = side.candidate.and_then(|index| self.candidates.get(index));
        candidate.map_or(&self.baseline.name, |(side, _)| &side.name)
    }

    fn sides(&self) -> impl Iterator<Item = &ComparedSide<'a>> {
        let candidates = self.candidates.iter().map(|(side, _)| side);
        std::iter::once(&self.baseline).chain(candidates)
    }
}
