//! The study's cycles that software alone can repeat: each changes one thing, and is judged by the same search.

use super::stack::NewspaperSettings;
use crate::plimsoll_run::LoadLineResult;

/// Elements of a page before and after the study moved some to the browser.
const NODES_BEFORE: u16 = 670;
const NODES_AFTER: u16 = 362;

/// One change, kept by those that follow unless they undo it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cycle {
    OneProcess,
    ProcessPerCore,
    TwoPerCore,
    FewerNodes,
    Fallback,
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

impl Cycle {
    pub(super) const ALL: [Self; 5] = [
        Self::OneProcess,
        Self::ProcessPerCore,
        Self::TwoPerCore,
        Self::FewerNodes,
        Self::Fallback,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::OneProcess => "one-process",
            Self::ProcessPerCore => "process-per-core",
            Self::TwoPerCore => "two-per-core",
            Self::FewerNodes => "fewer-nodes",
            Self::Fallback => "fallback",
        }
    }

    /// What is changed.
    pub(super) fn act(self) -> &'static str {
        match self {
            Self::OneProcess => "the start: one process renders pages of 670 elements",
            Self::ProcessPerCore => "a process per core",
            Self::TwoPerCore => "two processes per core",
            Self::FewerNodes => "362 elements instead of 670, by a process per core",
            Self::Fallback => "the edge before it, with the shell as fallback",
        }
    }

    /// What the study gained by it, percent.
    pub(super) fn study_gain(self) -> Option<u32> {
        match self {
            Self::OneProcess => None,
            // 10 to 16-17, and 19 with two per core.
            Self::ProcessPerCore => Some(65),
            Self::TwoPerCore => Some(15),
            Self::FewerNodes => Some(58),
            Self::Fallback => Some(789),
        }
    }

    pub(super) fn settings(self, cores: u8) -> NewspaperSettings {
        let workers = match self {
            Self::OneProcess => 1,
            Self::TwoPerCore => 2 * cores,
            Self::ProcessPerCore | Self::FewerNodes | Self::Fallback => cores,
        };
        let nodes = match self {
            Self::FewerNodes | Self::Fallback => NODES_AFTER,
            _ => NODES_BEFORE,
        };
        NewspaperSettings { workers, nodes }
    }

    pub(super) fn has_edge(self) -> bool {
        self == Self::Fallback
    }

    /// Which cycle it is compared with: the one whose settings it changes.
    pub(super) fn compared_with(self) -> Option<Self> {
        match self {
            Self::OneProcess => None,
            Self::ProcessPerCore => Some(Self::OneProcess),
            Self::TwoPerCore | Self::FewerNodes => Some(Self::ProcessPerCore),
            Self::Fallback => Some(Self::FewerNodes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cycle_changes_one_thing() {
        for cycle in Cycle::ALL {
            let Some(other) = cycle.compared_with() else {
                continue;
            };
            let (new, old) = (cycle.settings(4), other.settings(4));
            let changes = usize::from(new.workers != old.workers)
                + usize::from(new.nodes != old.nodes)
                + usize::from(cycle.has_edge() != other.has_edge());
            assert_eq!(changes, 1, "{cycle:?}");
        }
    }
}
