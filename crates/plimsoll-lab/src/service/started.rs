//! The processes of a service.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::fault::{ApplyFault, ApplyFaultKind};
use super::launch::{LaunchSpec, Launched};
use super::limits::{self, Allowance, MemoryCounts, ServiceLimits};
use super::processes;
use super::stage::{Stage, with_last_line};

/// The variable with the number of a process.
const NUMBER_VARIABLE: &str = "PLIMSOLL_PROCESS";

/// A process that was started.
#[derive(Debug)]
pub(super) struct StartedProcess {
    /// The process.
    pub(super) launched: Launched,
    /// What it is, for people.
    pub(super) place: String,
    /// File of its output.
    pub(super) output: PathBuf,
}

impl StartedProcess {
    /// How it ended, for people; `None` while it lives.
    pub(super) fn ending_text(&self) -> Option<String> {
        let ending = self.launched.ending()?;
        let text = format!("`{}` {ending}", self.launched.program());
        Some(with_last_line(text, &self.output))
    }
}

/// All processes of a cell.
#[derive(Debug, Default)]
pub(super) struct StartedService {
    pub(super) processes: Vec<StartedProcess>,
    /// Folders of the memory controller.
    pub(super) memory_groups: Vec<PathBuf>,
    /// What is limited otherwise than asked.
    pub(super) notes: Vec<String>,
}

impl StartedService {
    /// Starts the command of a setup, as often as the cell says.
    pub(super) fn start(
        &mut self,
        stage: &mut Stage,
        cell: usize,
        setup: usize,
        checkout: Option<&Path>,
    ) -> Result<(), ApplyFault> {
        let experiment = Arc::clone(&stage.experiment);
        let applied = &experiment.setups[setup];
        let words = stage.words(cell, &applied.command);
        if words.is_empty() {
            return Ok(());
        }
        let place = format!("apply {}", setup + 1);
        let levels = &experiment.cell(cell).unwrap_or_default();
        let allowance = Allowance {
            cpus: applied.cpus.as_ref().and_then(|it| it.at(levels)).copied(),
            memory: applied
                .memory
                .as_ref()
                .and_then(|it| it.at(levels))
                .copied(),
        };
        let ServiceLimits {
            process: process_limits,
            memory_group,
            notes,
        } = limits::apply(stage, allowance, &place)?;
        self.memory_groups.extend(memory_group);
        self.notes.extend(notes);
        let env = applied.env.iter();
        let variables: Vec<(String, String)> = env
            .filter_map(|(name, value)| Some((name.clone(), stage.text(cell, value)?)))
            .collect();
        let count = applied.processes.as_ref().and_then(|it| it.at(levels));
        let base = checkout.unwrap_or(&stage.context.base);
        let named = applied.folder.as_ref();
        let named = named.and_then(|folder| stage.text(cell, folder));
        let folder = named.map_or_else(|| base.to_owned(), |folder| base.join(folder));
        for number in 0..count.copied().unwrap_or(1) {
            stage.check_stop()?;
            let output = stage.output(&format!("service-{}-{number}", setup + 1));
            let mut variables = variables.clone();
            variables.push((NUMBER_VARIABLE.to_owned(), number.to_string()));
            let launched = stage.launch(&LaunchSpec {
                words: &words,
                variables,
                unset: &[],
                folder: &folder,
                limits: process_limits.clone(),
                output: &output,
                pipes_errors: false,
                is_service: true,
            });
            let launched = launched.map_err(|error| {
                let remedy = "valid: an executable of the PATH, or its path from the folder in which it starts";
                error.fault(ApplyFaultKind::Command, &place, remedy)
            })?;
            self.processes.push(StartedProcess {
                launched,
                place: place.clone(),
                output,
            });
        }
        Ok(())
    }

    /// The living processes, with all that they started.
    pub(super) fn members(&self) -> BTreeSet<u32> {
        let marks: Vec<_> = self.processes.iter().map(|it| it.launched.mark()).collect();
        processes::members(&marks, &self.memory_groups)
    }

    /// What the memory controllers count, of all groups.
    pub(super) fn memory_counts(&self) -> MemoryCounts {
        let counts = self
            .memory_groups
            .iter()
            .map(|it| limits::memory_counts(it));
        counts.fold(MemoryCounts::default(), |sum, counts| MemoryCounts {
            kills: sum.kills + counts.kills,
            swap: sum.swap + counts.swap,
        })
    }
}
