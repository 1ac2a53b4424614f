//! The block in which several changes of the winner are taken back together.

use std::collections::BTreeSet;

use super::observation::Observation;
use super::space::{Levels, Space};

/// A block in which the winner ran twice, and twice without several of its changes. The confirmation follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JointReversion {
    /// Index of the block.
    pub(super) block: usize,
    pub(super) winner: Levels,
    pub(super) without: Levels,
}

impl JointReversion {
    /// Of the first such block; `None` where there is none.
    pub(super) fn of(space: &Space, blocks: &[Vec<&Observation>]) -> Option<Self> {
        let found = blocks.iter().enumerate().find_map(|(block, trials)| {
            let settings: Vec<Levels> = trials.iter().map(|trial| trial.levels.clone()).collect();
            Some((block, pair_of(space, &settings)?))
        });
        found.map(|(block, (winner, without))| Self {
            block,
            winner,
            without,
        })
    }
}

/// A block of a setting and of it without some of its changes, each twice.
pub(super) fn twice(winner: &[usize], without: Levels) -> Vec<Levels> {
    let winner = winner.to_vec();
    vec![winner.clone(), without.clone(), winner, without]
}

/// Whether these are the settings of such a block.
pub(super) fn is_joint(space: &Space, settings: &[Levels]) -> bool {
    pair_of(space, settings).is_some()
}

/// The two settings of a block in which they run twice, that with more changes first: no other block repeats a setting.
fn pair_of(space: &Space, settings: &[Levels]) -> Option<(Levels, Levels)> {
    let others = || settings.iter().filter(|levels| !space.is_default(levels));
    let distinct: BTreeSet<&Levels> = others().collect();
    let mut pair: Vec<Levels> = distinct.into_iter().cloned().collect();
    pair.sort_by_key(|levels| space.changed(levels).len());
    let (Some(winner), Some(without), None) = (pair.pop(), pair.pop(), pair.pop()) else {
        return None;
    };
    (others().count() > 2).then_some((winner, without))
}
