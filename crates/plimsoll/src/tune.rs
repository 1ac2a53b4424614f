//! `plimsoll tune`: finds the settings with which a service carries the most, and puts everything back.

mod advice;
mod apply;
mod by_hand;
mod dead_man;
mod discover;
mod files;
mod loads;
mod progress;
mod results;
mod search;
#[cfg(test)]
mod tests;
mod users;
mod without_load;

use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_config::tuned::TunedFile;
use plimsoll_lab::experiment::log::{ExperimentHeader, ExperimentLog, FILE_NAME};
use plimsoll_lab::experiment::tuning::TuneBlocks;
use plimsoll_lab::progress::StopFlag;
use plimsoll_lab::service::ExperimentServices;
use plimsoll_model::component::Component;
use plimsoll_model::experiment::{Experiment, Tuning};
use plimsoll_model::objective::Objective;
use plimsoll_model::plan::LoadUnit;
use plimsoll_model::price::HeldResources;
use plimsoll_model::seed::Seed;
use serde_json::json;

use self::files::FileDigests;
use self::results::{Delivery, SearchResult};
use crate::arguments::TuneArguments;
use crate::exit::Exit;
use crate::experiment::{ExperimentFile, ExperimentLoads, definition};
use crate::explain::CliError;
use crate::screen::Screen;
use crate::{plan_file, signals};

pub(crate) use dead_man::put_back_when_gone;

/// Name of the file of the settings, in the folder of the results.
const TUNED_FILE: &str = "tuned.yaml";
/// Time of a search, if `--within` gives no other.
const WITHIN: Duration = Duration::from_mins(90);

/// An experiment file with knobs that is read and checked.
struct PreparedTune {
    file: ExperimentFile,
    /// The file itself.
    source: PathBuf,
    tuning: Tuning,
    loads: ExperimentLoads,
    components: Vec<Component>,
    /// Unit of load lines.
    unit: LoadUnit,
    objective: Objective,
    within: Duration,
}

/// Searches settings, or does what the flags ask for instead.
pub(crate) fn tune(arguments: &TuneArguments, screen: Screen) -> Result<Exit, CliError> {
    if let Some(url) = &arguments.discover {
        return without_load::discover(url, arguments, screen);
    }
    let Some(file) = &arguments.file else {
        return Err(CliError::usage(
            "an experiment file or --discover URL is missing",
        ));
    };
    let found = plan_file::read_tuned(file)?;
    let mut prepared = match &found {
        None => PreparedTune::read(file, arguments.out.as_deref(), arguments.i_own_this)?,
        Some(tuned) => of_tuned(file, tuned, arguments)?,
    };
    prepared.within = arguments.within.unwrap_or(WITHIN);
    if arguments.advice {
        return Ok(without_load::advise(&prepared, arguments, screen));
    }
    if arguments.apply
        && let Some(tuned) = apply::found(&prepared)?
    {
        return apply_found(prepared, &tuned, arguments, screen);
    }
    if arguments.users.is_some() {
        users::check(&prepared)?;
    }
    search::search(prepared, arguments, screen)
}

/// The experiment of a file of settings.
fn of_tuned(
    file: &Path,
    tuned: &TunedFile,
    arguments: &TuneArguments,
) -> Result<PreparedTune, CliError> {
    if !arguments.apply {
        let message = format!("{} is what a search has found", file.display());
        return Err(CliError::usage(message)
            .remedy("make it permanent with --apply; a search needs the experiment file"));
    }
    let folder = file.parent().unwrap_or(Path::new(""));
    let out = arguments.out.as_deref().unwrap_or(folder);
    let source = folder.join(&tuned.experiment);
    PreparedTune::read(&source, Some(out), arguments.i_own_this)
}

impl PreparedTune {
    /// Reads the file, and resolves the load of the settings that stand.
    fn read(source: &Path, out: Option<&Path>, i_own_this: bool) -> Result<Self, CliError> {
        let file = ExperimentFile::read(source, out)?;
        let Some(tuning) = file.experiment.tuning.clone() else {
            let message = format!("{} has no knobs to search", source.display());
            return Err(CliError::usage(message).remedy(
                "write `knobs:` instead of `axes:`; plimsoll matrix measures every cell of axes",
            ));
        };
        let loads = file.loads(i_own_this, None);
        let default = file.experiment.design.index_of(&tuning.default_levels());
        let rehearsal = loads.rehearse(default)?;
        let (unit, objective) = loads.goal(default);
        Ok(Self {
            file,
            source: source.to_owned(),
            tuning,
            loads,
            components: rehearsal.components,
            unit,
            objective: objective.unwrap_or_default(),
            within: WITHIN,
        })
    }

    /// The knobs.
    fn tuning(&self) -> &Tuning {
        &self.tuning
    }

    /// The cell of the settings that stand.
    fn default_cell(&self) -> usize {
        let design = &self.file.experiment.design;
        design.index_of(&self.tuning.default_levels())
    }

    fn open_services(&self, stop: &StopFlag) -> Result<ExperimentServices, CliError> {
        self.file.open_services(&self.components, stop)
    }

    /// The header of the log, with the files as they are.
    fn header(&self, files: &FileDigests) -> Result<ExperimentHeader, CliError> {
        let further = vec![
            ("files", json!(files)),
            ("within_s", json!(self.within.as_secs())),
        ];
        let definition = definition(&self.file.experiment, &self.loads, further)?;
        self.file.header("tune", &self.source, definition)
    }

    fn blocks(&self, seed: u64) -> TuneBlocks {
        let machine = HeldResources::of_machine(&plimsoll_probe::host_facts());
        let experiment = std::sync::Arc::clone(&self.file.experiment);
        TuneBlocks::new(experiment, Seed(seed), self.within, machine)
    }
}

/// Makes the settings permanent that an earlier search has found. Nothing is measured.
fn apply_found(
    mut prepared: PreparedTune,
    tuned: &TunedFile,
    arguments: &TuneArguments,
    screen: Screen,
) -> Result<Exit, CliError> {
    let stop = StopFlag::default();
    signals::raise_on_interrupt(&stop)?;
    prepared.within = tuned.within;
    prepared.file.put_back(&prepared.components, &stop)?;
    let folder = &prepared.file.folder;
    if !folder.join(FILE_NAME).exists() {
        let message = format!("the log of the search is not in {}", folder.display());
        return Err(CliError::usage(message).remedy(format!(
            "keep {TUNED_FILE} in the folder of its search, or name that with --out DIR"
        )));
    }
    let log = ExperimentLog::open(folder, prepared.header(&tuned.files)?)?;
    let mut delivery = Delivery {
        undone: true,
        ..Delivery::default()
    };
    if tuned.adopt {
        let cell = apply::cell_of(&prepared, tuned)?;
        let adopted = apply::adopt(&prepared, cell, &tuned.files, &stop)?;
        (delivery.applied, delivery.by_hand) = (adopted.applied, adopted.by_hand);
    }
    let blocks = prepared.blocks(log.header().seed);
    let end = search::end_of(&blocks, log.records());
    let result = SearchResult::of(&prepared, &blocks, (log.header(), log.records()), end);
    result.deliver(&delivery, arguments.json, screen)
}

/// What differs in a cell from the settings that stand: `workers=16 pool=20`.
fn setting_text(experiment: &Experiment, cell: usize) -> String {
    let levels = experiment.design.levels_at(cell);
    let knobs = experiment.tuning.iter().flat_map(|tuning| &tuning.knobs);
    let changed = knobs
        .zip(&levels)
        .filter(|(knob, level)| knob.default != **level);
    let pairs = changed.map(|(knob, level)| {
        let text = knob.levels.get(*level).map_or("–", String::as_str);
        format!("{}={text}", knob.name)
    });
    let text = pairs.collect::<Vec<_>>().join(" ");
    if text.is_empty() {
        "the settings that stand".to_owned()
    } else {
        text
    }
}

/// The command that makes the settings of a search permanent.
fn apply_command(prepared: &PreparedTune) -> String {
    format!(
        "plimsoll tune {} --apply --out {}",
        prepared.source.display(),
        prepared.file.folder.display()
    )
}
