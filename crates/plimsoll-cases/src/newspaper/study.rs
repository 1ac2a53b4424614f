//! What the study saw, and its cycles that software alone can repeat: `cases/newspaper/study.toml`.

use std::path::Path;

use anyhow::Result;
use plimsoll_harness::data;
use serde::Deserialize;

use super::stack::NewspaperSettings;
use crate::plimsoll_run::LoadLineResult;

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

/// One change, kept by those that follow unless they undo it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cycle {
    pub(super) name: String,
    /// What is changed.
    pub(super) act: String,
    /// Processes per core; without it, there is one process.
    per_core: Option<u8>,
    nodes: u16,
    #[serde(default)]
    pub(super) edge: bool,
    /// The cycle whose settings it changes.
    pub(super) compared_with: Option<String>,
    pub(super) gain: Option<u32>,
}

/// What a cycle came to.
pub(super) struct CycleEntry {
    pub(super) cycle: Cycle,
    /// The limit that the cycle before found.
    pub(super) diagnosis: Option<String>,
    pub(super) found: LoadLineResult,
    /// The limit that it found itself.
    pub(super) finding: Option<String>,
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
    pub(super) fn settings(&self, cores: u8) -> NewspaperSettings {
        NewspaperSettings {
            workers: self.per_core.map_or(1, |each| each * cores),
            nodes: self.nodes,
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_harness::workspace::Workspace;

    use super::*;

    #[test]
    fn each_cycle_changes_one_thing() {
        let study = Study::read(Workspace::find().unwrap().root()).unwrap();
        for cycle in &study.cycles[1..] {
            let name = cycle.compared_with.as_ref();
            let other = study
                .cycles
                .iter()
                .find(|it| Some(&it.name) == name)
                .unwrap();
            let (new, old) = (cycle.settings(4), other.settings(4));
            let changes = usize::from(new.workers != old.workers)
                + usize::from(new.nodes != old.nodes)
                + usize::from(cycle.edge != other.edge);
            assert_eq!(changes, 1, "{cycle:?}");
        }
    }
}
