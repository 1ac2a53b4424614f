//! A cell of an experiment made real: the service is started as the levels of the cell demand, checked, and stopped.
//!
//! The order of a trial is: [`ExperimentServices::apply`], [`Service::ready`], [`Service::reset`], [`Service::settle`],
//! the load, [`Service::health`], [`Service::stop`]. Whatever is applied is in a journal before it is applied. It is put
//! back by `stop`, by a drop, and after `kill -9` by the next [`ExperimentServices::open`] with the same folder. Only what
//! the experiment names is ever restored.

mod adopt;
mod applied;
mod back;
mod command;
pub mod deadman;
mod edge;
mod fault;
mod files;
mod health;
mod http;
mod journal;
mod launch;
mod limits;
mod processes;
mod ready;
mod reload_watch;
mod revert;
mod settle;
mod source;
mod stage;
mod started;
mod tunables;
mod workers;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_model::experiment::Experiment;

use crate::intervention::ComponentAccess;
use crate::progress::StopFlag;

use command::CommandSpec;
use health::MemoryState;
use journal::PuttingBack;
use launch::Launched;
use ready::CellCheck;
use reload_watch::ReloadWatch;
use settle::OtherWork;
use source::Checkouts;
use stage::{Reversal, Stage};
use started::StartedService;

pub use edge::EdgeAddress;
pub use fault::{ApplyFault, ApplyFaultKind};
pub use health::Health;
pub use launch::launch;
pub use settle::Settled;

/// What the services of an experiment need.
#[derive(Clone, Debug)]
pub struct ServiceContext {
    /// Folder of the experiment file: relative names are relative to it.
    pub base: PathBuf,
    /// Folder of the results, with the journal, output of the services, and checkouts.
    pub folder: PathBuf,
    /// Components whose settings may be changed, with their logins.
    pub access: ComponentAccess,
    /// Programs that are started beside the service.
    pub launcher: Launcher,
    /// Ends every wait.
    pub stop: StopFlag,
}

/// How processes are started: by a program that first limits itself, and then becomes the service.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// Absolute path of a program that calls [`launch`].
    pub program: PathBuf,
    /// Its arguments for that.
    pub arguments: Vec<OsString>,
    /// The program and arguments that start an edge, before its flags: `[/proc/self/exe, edge]`.
    pub edge: Vec<OsString>,
}

/// The services of an experiment. Its folder is locked as long as this lives; checkouts are shared by its trials and
/// removed in the end.
#[derive(Debug)]
pub struct ExperimentServices {
    stage: Stage,
    checkouts: Checkouts,
    other_work: OtherWork,
    restored: Vec<String>,
    /// Whether a reload was found to drop connections, which is told once.
    is_reload_judged: bool,
    is_closed: bool,
}

impl ExperimentServices {
    /// Takes the folder, and puts back what an earlier, killed experiment left applied there.
    ///
    /// # Errors
    /// When another experiment has the folder, the journal cannot be written, or something cannot be put back.
    pub fn open(
        experiment: Arc<Experiment>,
        mut context: ServiceContext,
    ) -> Result<Self, ApplyFault> {
        // A service starts in another folder, and Git lists absolute paths.
        context.base = absolute(&context.base)?;
        context.folder = absolute(&context.folder)?;
        let mut stage = Stage::open(experiment, context)?;
        // A start that comes meanwhile waits for its end.
        let _putting_back = PuttingBack::begin(&stage.journal);
        let Reversal {
            mut restored,
            faults,
            ..
        } = stage.revert(Vec::new());
        if let Some(fault) = faults.into_iter().next() {
            return Err(fault);
        }
        let was_changed = !restored.is_empty();
        let checkouts = source::remove_all(&mut stage)?;
        if checkouts > 0 {
            restored.push(format!("{checkouts} checkouts"));
        }
        if was_changed {
            back::check_after_kill(&mut stage)?;
        }
        Ok(Self {
            stage,
            checkouts: Checkouts::default(),
            other_work: OtherWork::default(),
            restored,
            is_reload_judged: false,
            is_closed: false,
        })
    }

    /// What an earlier, killed experiment had left applied and is put back now, for the user: `2 checkouts`.
    pub fn restored(&self) -> &[String] {
        &self.restored
    }

    /// Applies a cell: sources, files, settings, processes, edge.
    ///
    /// # Errors
    /// When a part cannot be applied. What was applied until then is put back.
    pub fn apply(&mut self, cell: usize) -> Result<Service<'_>, ApplyFault> {
        let mut service = Service {
            services: self,
            cell,
            started: StartedService::default(),
            edge: None,
            edge_process: None,
            check: None,
            reload: None,
            memory: MemoryState::default(),
            is_stopped: false,
        };
        match service.start() {
            Ok(()) => Ok(service),
            Err(fault) => {
                // What is not put back is worse than what was not applied.
                service.put_back().check()?;
                Err(fault)
            }
        }
    }

    /// Applies the files and settings of a cell for good: no later start puts them back. Returns what has changed, for the
    /// user. What is started here is left out, with its environment and its limits.
    ///
    /// # Errors
    /// When something cannot be applied, or a service that runs already is not ready with it; then all of it is put back.
    pub fn adopt(&mut self, cell: usize) -> Result<Vec<String>, ApplyFault> {
        adopt::adopt(&mut self.stage, cell)
    }

    /// The commits of the sources of a cell.
    ///
    /// # Errors
    /// When there is no such repository or revision.
    pub fn commits(&mut self, cell: usize) -> Result<Vec<String>, ApplyFault> {
        let mut commits = Vec::new();
        for setup in 0..self.stage.experiment.setups.len() {
            commits.extend(self.checkouts.commit(&mut self.stage, cell, setup)?);
        }
        Ok(commits)
    }

    /// Checks out and builds the sources of a cell, ahead of its first trial; returns what the user should know of them.
    ///
    /// # Errors
    /// When a revision cannot be checked out or built.
    pub fn build(&mut self, cell: usize) -> Result<Vec<String>, ApplyFault> {
        let mut notes = Vec::new();
        for setup in 0..self.stage.experiment.setups.len() {
            let folder = self.checkouts.folder(&mut self.stage, cell, setup)?;
            if folder.is_some_and(|folder| source::has_empty_submodule(&folder)) {
                notes.push(
                    "it has submodules, which a checkout leaves empty: let the build command run `git submodule update --init`"
                        .to_owned(),
                );
            }
        }
        Ok(notes)
    }

    /// The last lines that the last failed build has written.
    pub fn failed_build(&self) -> Vec<String> {
        self.checkouts.failed_build()
    }

    /// Files that were changed in the repositories of the experiment and not committed: no revision has the changes.
    pub fn uncommitted(&mut self) -> usize {
        let experiment = Arc::clone(&self.stage.experiment);
        let sources = experiment.setups.iter().filter_map(|it| it.source.as_ref());
        let mut repositories: Vec<PathBuf> = sources
            .map(|source| self.stage.path(&source.repository))
            .collect();
        repositories.dedup();
        let count = |repository: &PathBuf| source::uncommitted(&mut self.stage, repository);
        repositories.iter().map(count).sum()
    }

    /// Removes the checkouts and gives the folder back. A drop does the same.
    ///
    /// # Errors
    /// When a checkout cannot be removed.
    pub fn close(mut self) -> Result<(), ApplyFault> {
        self.remove_checkouts()
    }

    fn remove_checkouts(&mut self) -> Result<(), ApplyFault> {
        if self.is_closed {
            return Ok(());
        }
        self.is_closed = true;
        source::remove_all(&mut self.stage).map(drop)
    }
}

impl Drop for ExperimentServices {
    fn drop(&mut self) {
        // Those that stay are removed by the next start.
        let _ = self.remove_checkouts();
    }
}

/// Whether the folder of an experiment has something that is applied: that of one that runs, or was killed.
pub fn has_applied(folder: &Path) -> bool {
    source::has_checkouts(folder) || journal::has_outstanding(folder)
}

fn absolute(path: &Path) -> Result<PathBuf, ApplyFault> {
    std::path::absolute(path).map_err(|error| {
        let place = path.display().to_string();
        ApplyFault::new(ApplyFaultKind::Journal, place, error.to_string(), "")
    })
}

/// A cell that is applied, until this is stopped or dropped.
#[derive(Debug)]
pub struct Service<'s> {
    services: &'s mut ExperimentServices,
    cell: usize,
    started: StartedService,
    edge: Option<EdgeAddress>,
    edge_process: Option<Launched>,
    check: Option<CellCheck>,
    /// Requests since before the files were written, until the service is ready.
    reload: Option<ReloadWatch>,
    /// Memory when the service was ready.
    memory: MemoryState,
    is_stopped: bool,
}

impl Service<'_> {
    fn start(&mut self) -> Result<(), ApplyFault> {
        let cell = self.cell;
        let ExperimentServices {
            stage,
            checkouts,
            is_reload_judged,
            ..
        } = &mut *self.services;
        let experiment = Arc::clone(&stage.experiment);
        if let Some(check) = &experiment.ready {
            self.check = CellCheck::new(stage, cell, check)?;
        }
        let starts_any = experiment.setups.iter().any(|it| !it.command.is_empty());
        if let Some(check) = self.check.as_ref().filter(|_| starts_any) {
            check.check_free(stage)?;
        }
        let address = self.check.as_ref().and_then(CellCheck::address);
        if !starts_any && !*is_reload_judged && experiment.reloads().next().is_some() {
            self.reload = address.cloned().and_then(ReloadWatch::begin);
        }
        for (index, setup) in experiment.setups.iter().enumerate() {
            stage.check_stop()?;
            let checkout = checkouts.folder(stage, cell, index)?;
            for file in 0..setup.files.len() {
                files::apply(stage, cell, (index, file))?;
            }
            for value in &setup.tunables {
                tunables::apply(stage, cell, value)?;
            }
            self.started
                .start(stage, cell, index, checkout.as_deref())?;
            for signals in &setup.workers {
                workers::apply(stage, cell, signals)?;
            }
            let edge = edge::start(stage, cell, index, &mut self.edge_process)?;
            self.edge = self.edge.or(edge);
        }
        Ok(())
    }

    /// Waits until the service is ready; returns how long it took.
    ///
    /// # Errors
    /// When it ends before, or is not ready within its time limit.
    pub fn ready(&mut self) -> Result<Duration, ApplyFault> {
        let waited = match &self.check {
            Some(check) => check.wait(&mut self.services.stage, &self.started.processes),
            None => Ok(Duration::ZERO),
        };
        let waited = waited.map_err(|fault| self.with_memory(fault))?;
        if let Some(reload) = self.reload.take() {
            let files: Vec<&str> = self.services.stage.experiment.reloads().collect();
            let note = reload.end(&files.join(", "));
            self.services.is_reload_judged = note.is_some();
            self.started.notes.extend(note);
        }
        self.memory = MemoryState::of(&self.started);
        Ok(waited)
    }

    /// Why a service is not ready, where its memory ran out.
    fn with_memory(&self, fault: ApplyFault) -> ApplyFault {
        if !matches!(
            fault.kind(),
            ApplyFaultKind::Command | ApplyFaultKind::NotReady
        ) {
            return fault;
        }
        let kills = MemoryState::of(&self.started).kills_since(MemoryState::default());
        match kills {
            Some(kills) => fault.caused_by(&kills, "give it more memory with `memory` of `apply`"),
            None => fault,
        }
    }

    /// Restores and reseeds the stores.
    ///
    /// # Errors
    /// When the command fails, or takes longer than its time limit.
    pub fn reset(&mut self) -> Result<(), ApplyFault> {
        let stage = &mut self.services.stage;
        let experiment = Arc::clone(&stage.experiment);
        let Some(reset) = &experiment.reset else {
            return Ok(());
        };
        let words = stage.words(self.cell, &reset.words);
        if words.is_empty() {
            return Ok(());
        }
        let output = stage.output("reset");
        let base = stage.context.base.clone();
        let spec = CommandSpec {
            words: &words,
            unset: &[],
            folder: &base,
            within: reset.within,
            output: &output,
        };
        stage
            .run_command(&spec)
            .map_err(|failure| failure.fault(ApplyFaultKind::Reset, "reset", &output))
    }

    /// Waits until sockets in `TIME_WAIT`, connections of the service, and CPUs are at rest, at most as long as the
    /// experiment allows.
    ///
    /// # Errors
    /// When the user requests a stop.
    pub fn settle(&mut self) -> Result<Settled, ApplyFault> {
        let port = self.check.as_ref().and_then(CellCheck::port);
        let services = &mut *self.services;
        settle::settle(
            &services.stage,
            &mut services.other_work,
            &self.started,
            port,
        )
    }

    /// The state of the service, after the load.
    pub fn health(&mut self) -> Health {
        let stage = &mut self.services.stage;
        let experiment = Arc::clone(&stage.experiment);
        let check = match &experiment.health {
            None => Ok(self.check.clone()),
            Some(check) => CellCheck::new(stage, self.cell, check),
        };
        let mut health = match check {
            Ok(check) => health::check(stage, &self.started, self.memory, check.as_ref()),
            Err(fault) => Health {
                failures: vec![fault.to_string()],
            },
        };
        let ending = self.edge_process.as_ref().and_then(Launched::ending);
        let edge = ending.map(|ending| format!("the edge {ending}"));
        health.failures.extend(edge);
        health
    }

    /// Ids of the processes that were started here and of their descendants, for collectors; without those of the edge.
    pub fn processes(&self) -> Vec<u32> {
        self.started.members().into_iter().collect()
    }

    /// The edge in front of the service, if the cell has one.
    pub fn edge(&self) -> Option<EdgeAddress> {
        self.edge
    }

    /// What was applied otherwise than asked, and why: CPUs by affinity instead of a control group.
    pub fn notes(&self) -> &[String] {
        &self.started.notes
    }

    /// Stops the service and puts everything back; returns what the user should know, such as a file that something else
    /// has changed meanwhile.
    ///
    /// # Errors
    /// When something cannot be put back: no trial may follow.
    pub fn stop(mut self) -> Result<Vec<String>, ApplyFault> {
        let reversal = self.put_back();
        reversal.check()?;
        back::check(&mut self.services.stage, self.check.as_ref())?;
        Ok(reversal.notes)
    }

    fn put_back(&mut self) -> Reversal {
        if self.is_stopped {
            return Reversal::default();
        }
        self.is_stopped = true;
        let mut launched: Vec<Launched> = self.edge_process.take().into_iter().collect();
        let started = std::mem::take(&mut self.started.processes);
        launched.extend(started.into_iter().map(|process| process.launched));
        let stage = &mut self.services.stage;
        // A request to stop does not end this.
        let stop = std::mem::take(&mut stage.context.stop);
        let reversal = stage.revert(launched);
        stage.context.stop = stop;
        reversal
    }
}

impl Drop for Service<'_> {
    fn drop(&mut self) {
        // What stays is in the journal, and is put back by the next start.
        let _ = self.put_back();
    }
}
