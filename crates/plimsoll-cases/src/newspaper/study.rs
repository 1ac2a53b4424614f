//! What the study saw, and its cycles that can be repeated here: `cases/newspaper/study.toml`.

use std::path::Path;

use anyhow::Result;
use plimsoll_harness::data;
use serde::Deserialize;

use super::stack::NewspaperSettings;

/// What the study's instance carried, requests a second.
const STUDY_LINE: f64 = 80.0;

/// The study.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Study {
    pub(super) loads: Vec<StudyLoad>,
    pub(super) cycles: Vec<Cycle>,
}

/// A row of its table.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StudyLoad {
    offered: f64,
    pub(super) rendered: f64,
    pub(super) slow: Option<f64>,
}

/// One change of the cycle before it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cycle {
    /// The study's number.
    pub(super) number: u8,
    /// What is changed.
    pub(super) act: String,
    /// Whether the site has one core only.
    #[serde(default)]
    one_core: bool,
    /// Processes per core; without it, there is one process.
    per_core: Option<u8>,
    nodes: u16,
    #[serde(default)]
    pub(super) edge: bool,
    /// The study's, in percent.
    pub(super) gain: Option<u32>,
}

impl Study {
    /// Reads it, below the root of the repository.
    pub(super) fn read(root: &Path) -> Result<Self> {
        data::read(root, "cases/newspaper/study.toml")
    }
}

impl StudyLoad {
    /// How many times its load line that was.
    pub(super) fn factor(&self) -> f64 {
        self.offered / STUDY_LINE
    }
}

impl Cycle {
    /// How the site is started on a machine with so many cores.
    pub(super) fn settings(&self, cores: u8) -> NewspaperSettings {
        let per_core = self.per_core.map(|each| each.saturating_mul(cores));
        NewspaperSettings {
            core: self.one_core.then_some(0),
            workers: per_core.unwrap_or(1),
            nodes: self.nodes,
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_harness::workspace::Workspace;

    use super::*;

    #[test]
    fn each_cycle_changes_one_thing_of_the_one_before() {
        let study = Study::read(Workspace::find().unwrap().root()).unwrap();
        for pair in study.cycles.windows(2) {
            let (old, new) = (pair[0].settings(4), pair[1].settings(4));
            let changes = usize::from(new.core != old.core)
                + usize::from(new.workers != old.workers)
                + usize::from(new.nodes != old.nodes)
                + usize::from(pair[1].edge != pair[0].edge);
            assert_eq!(changes, 1, "{:?}", pair[1]);
            assert!(pair[1].gain.is_some() && pair[0].number <= pair[1].number);
        }
    }
}
