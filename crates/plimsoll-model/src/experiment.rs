//! The nouns of an experiment: axes with levels, cells, what is applied and measured in each.
//!
//! An experiment runs the same measurement in many *cells*. A cell assigns a level to each *axis*; [`Design::cells`]
//! makes them of the axes. A [`Setup`] describes how the levels of a cell become real, [`Measure`] what a trial of the
//! cell measures. Nothing here starts, writes or connects.

mod design;
mod end;
mod measure;
mod per_cell;
mod setup;
mod tuning;

pub use design::{
    AXES_MAX, Axis, CANDIDATES_MAX, CELLS_MAX, Cell, CellList, Condition, ConditionTerm, Design,
    DesignError, Factor, LEVELS_MAX, OnlyIf, PRODUCT_MAX,
};
pub use end::ExperimentEnd;
pub use measure::{FixedLoad, Measure, MeasureTarget, Measurement, SearchEffort};
pub use per_cell::{HiddenText, LevelPiece, LevelTable, LevelText, PerCell};
pub use setup::{
    CertificateTrust, CommandLine, Readiness, ReadyCheck, Setup, SourceCheckout, TemplateFile,
    TunableValue, Warm, WorkerSignals,
};
pub use tuning::{
    Constraint, ConstraintOperator, ConstraintRelation, ConstraintTerm, KNOB_LEVELS_MAX, Knob,
    Tuning,
};

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::price::{HeldResources, Price};

/// Trials of an experiment at most, all cells together.
pub const TRIALS_MAX: u64 = 100_000;

/// Longest estimated time of an experiment.
pub const TOTAL_MAX: Duration = Duration::from_hours(31 * 24);

/// An experiment, resolved and valid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Short name for files and headings.
    pub name: String,
    /// The axes and how they make cells.
    pub design: Design,
    /// The cells, in the order of the design.
    pub cells: CellList,
    /// Trials of each cell; each is in another block.
    pub trials: u32,
    /// Order of the cells in a block.
    pub order: TrialOrder,
    /// Seed of the order; `None` to draw a new seed, which is printed.
    pub seed: Option<u64>,
    /// What a trial measures.
    pub measure: Measure,
    /// How levels are applied, in this order.
    pub setups: Vec<Setup>,
    /// When the service is ready; `None` where nothing is checked.
    pub ready: Option<ReadyCheck>,
    /// Health check after the trial; `None` for that of `ready`.
    pub health: Option<ReadyCheck>,
    /// Load before the trial that is not measured.
    pub warm: Option<Warm>,
    /// Command that restores the stores before each trial.
    pub reset: Option<CommandLine>,
    /// What the service costs in each cell; `None` for the price of the plan.
    pub price: Option<PerCell<Price>>,
    /// Longest wait until connections and CPU are at rest before a trial.
    pub settle: Duration,
    /// What is searched, where the axes are knobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuning: Option<Tuning>,
}

/// Order of the cells in a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialOrder {
    /// Shuffled by the seed, in each block anew.
    #[default]
    Random,
    /// As the axes list them: drift of the machine then looks like an effect of the slowest axis.
    Listed,
}

impl Experiment {
    /// Files that a service reads again at a command.
    pub fn reloads(&self) -> impl Iterator<Item = &str> {
        let files = self.setups.iter().flat_map(|setup| &setup.files);
        files
            .filter(|file| file.reload.is_some())
            .map(|file| file.to.as_str())
    }

    /// The cell with this index.
    pub fn cell(&self, index: usize) -> Option<Cell> {
        match &self.cells {
            CellList::Listed(cells) => cells.get(index).cloned(),
            CellList::Product => (index < self.cells_len()).then(|| self.design.cell_at(index)),
        }
    }

    /// How many cells there are.
    pub fn cells_len(&self) -> usize {
        match &self.cells {
            CellList::Listed(cells) => cells.len(),
            CellList::Product => self.design.product_len().unwrap_or(0),
        }
    }

    /// The cells that are listed; none where knobs are searched.
    pub fn listed(&self) -> &[Cell] {
        match &self.cells {
            CellList::Listed(cells) => cells,
            CellList::Product => &[],
        }
    }

    /// Trials of all listed cells, without the reference trials.
    pub fn trials_total(&self) -> u64 {
        u64::from(self.trials).saturating_mul(self.listed().len() as u64)
    }

    /// Estimated time of a trial of a cell, where a plan's own load lasts `plan_load`. Starting the service and waiting
    /// for it are not included: they are unknown before the first block.
    pub fn trial_time(&self, cell: &Cell, plan_load: Duration) -> Duration {
        let warm = self.warm.map_or(Duration::ZERO, Warm::longest);
        self.measure.lasting(cell, plan_load).saturating_add(warm)
    }

    /// Estimated time of all trials of listed cells.
    pub fn total_time(&self, plan_load: Duration) -> Duration {
        let cells = self.listed().iter();
        let block = cells
            .map(|cell| self.trial_time(cell, plan_load))
            .fold(Duration::ZERO, Duration::saturating_add);
        block.saturating_mul(self.trials)
    }

    /// What the service holds in a cell, on a machine that has `machine`: the CPUs and the memory of its limits where all
    /// that is started has one, else those of the machine.
    pub fn held(&self, cell: &Cell, machine: HeldResources) -> HeldResources {
        let started = || self.setups.iter().filter(|setup| !setup.command.is_empty());
        let cpus = started().map(|setup| setup.cpus.as_ref()?.at(cell).copied());
        let memory = started().map(|setup| setup.memory.as_ref()?.at(cell).copied());
        let cpus: Option<Vec<f64>> = cpus.collect();
        let memory: Option<Vec<u64>> = memory.collect();
        HeldResources {
            cpus: cpus
                .filter(|cpus| !cpus.is_empty())
                .map_or(machine.cpus, |cpus| cpus.iter().sum()),
            memory: memory
                .filter(|memory| !memory.is_empty())
                .map_or(machine.memory, |memory| {
                    memory.into_iter().fold(0, u64::saturating_add)
                }),
            ..machine
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two services with these CPUs, at a price per CPU.
    fn experiment(cpus: [Option<PerCell<f64>>; 2]) -> Experiment {
        let text = || LevelText::new(vec![LevelPiece::Text("run".to_owned())]);
        let setup = |cpus| Setup {
            command: vec![text()],
            cpus,
            memory: Some(PerCell::Every(1 << 30)),
            ..Setup::default()
        };
        let design = Design::new(vec![Axis::new(
            "cpus",
            vec!["1".to_owned(), "2".to_owned()],
        )]);
        Experiment {
            name: "test".to_owned(),
            cells: CellList::Listed(design.cells().unwrap()),
            design,
            trials: 1,
            order: TrialOrder::Random,
            seed: None,
            measure: Measure {
                target: MeasureTarget::Url(text()),
                measurement: Measurement::PlanLoad,
                objective: None,
            },
            setups: cpus.map(setup).to_vec(),
            ready: None,
            health: None,
            warm: None,
            reset: None,
            price: Some(PerCell::Every(Price {
                cpu_hour: 0.5,
                ..Price::default()
            })),
            settle: Duration::ZERO,
            tuning: None,
        }
    }

    #[test]
    fn cells_cost_by_their_limits() {
        let machine = HeldResources {
            machines: 1.0,
            cpus: 16.0,
            memory: 64 << 30,
        };
        let cells = [0, 1].map(|level| Cell::new(vec![Some(level)]));
        let by_axis = PerCell::by_axes(vec![0], cells.clone().into_iter().zip([1.0, 2.0]));
        let limited = experiment([Some(by_axis.clone()), Some(PerCell::Every(0.5))]);
        assert_eq!(limited.listed(), cells);
        let held = limited.held(&cells[1], machine);
        assert_eq!((held.cpus, held.memory), (2.5, 2 << 30));
        let price = limited.price.as_ref().unwrap().at(&cells[0]).unwrap();
        assert!((price.per_hour(limited.held(&cells[0], machine)) - 0.75).abs() < 1e-12);
        // Without a limit for one of them, all CPUs of the machine are paid for.
        let open = experiment([Some(by_axis), None]);
        assert!((price.per_hour(open.held(&cells[0], machine)) - 8.0).abs() < 1e-12);
    }
}
