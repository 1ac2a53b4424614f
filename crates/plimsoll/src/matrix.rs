//! `plimsoll matrix`: the same measurement in every cell of a matrix of settings.

mod cost;
mod cycle;
mod definition;
mod forecast;
mod loads;
mod progress;
mod results;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_analysis::experiment::metrics;
use plimsoll_analysis::experiment::result::criteria_of;
use plimsoll_lab::clock;
use plimsoll_lab::experiment::ExperimentError;
use plimsoll_lab::experiment::log::{
    ExperimentHeader, ExperimentLog, ExperimentLogError, FILE_NAME, FORMAT,
};
use plimsoll_lab::experiment::matrix::{MatrixBlocks, MatrixDesign, Race};
use plimsoll_lab::experiment::run_experiment;
use plimsoll_lab::experiment::service_trials::ServiceTrials;
use plimsoll_lab::progress::StopFlag;
use plimsoll_lab::service::{self, ExperimentServices};
use plimsoll_model::component::Component;
use plimsoll_model::experiment::{Experiment, Measurement};
use plimsoll_model::objective::Objective;
use plimsoll_model::plan::LoadUnit;
use plimsoll_model::seed::Seed;
use plimsoll_report::matrix::forecast_summary;

use self::cost::CellCost;
use self::loads::{MatrixLoads, Rehearsal};
use self::progress::MatrixProgress;
use self::results::Outcome;
use crate::arguments::MatrixArguments;
use crate::cycles::CycleTarget;
use crate::exit::Exit;
use crate::explain::{CliError, chain};
use crate::live_line::{LiveLine, TrialLine};
use crate::screen::{Screen, eprint, print};
use crate::{plan_file, services, signals};

/// An experiment that is read and checked.
struct PreparedMatrix {
    experiment: Arc<Experiment>,
    /// Folder of the experiment file.
    base: PathBuf,
    /// Folder of the results.
    folder: PathBuf,
    loads: MatrixLoads,
    components: Vec<Component>,
    estimated_ms: Vec<u64>,
    cost: Option<CellCost>,
    load_unit: LoadUnit,
    objective: Option<Objective>,
}

/// Carries out the experiment, or the rest of it.
pub(crate) fn matrix(arguments: &MatrixArguments, screen: Screen) -> Result<Exit, CliError> {
    let mut prepared = prepare(arguments)?;
    if arguments.dry_run {
        let seed = prepared.experiment.seed;
        let forecast = forecast::object(&prepared, arguments.within, seed, &[]);
        if arguments.json {
            print(&forecast.json());
        } else {
            print(&forecast_summary(&forecast, screen.colours_data()));
        }
        return Ok(Exit::Met);
    }
    let is_there = prepared.folder.join(FILE_NAME).exists();
    if arguments.resume && !is_there {
        return Err(CliError::usage(format!(
            "there is no experiment to resume in {}",
            prepared.folder.display()
        ))
        .remedy("name its folder with --out DIR, or start one without --resume"));
    }
    let stop = StopFlag::default();
    signals::raise_on_interrupt(&stop)?;
    let mut log = match ExperimentLog::open(&prepared.folder, header(&prepared, arguments)?) {
        Err(error @ ExperimentLogError::OtherExperiment { .. }) => {
            put_back(&prepared, &stop)?;
            return Err(error.into());
        }
        opened => opened?,
    };
    let seed = log.header().seed;
    if !arguments.quiet {
        let forecast = forecast::object(&prepared, arguments.within, Some(seed), log.records());
        eprint(forecast_summary(&forecast, false).trim_end());
        eprint(&format!(
            "seed {seed}, results in {}",
            prepared.folder.display()
        ));
    }
    let design = design(&prepared, arguments.within, Seed(seed));
    let mut blocks = MatrixBlocks::new(design);
    let end = carry_out(&mut prepared, &mut log, &mut blocks, arguments, &stop)?;
    let active = blocks.active();
    let cycles = CycleTarget::of(&arguments.cycles, None);
    let outcome = Outcome {
        experiment: &prepared.experiment,
        header: log.header(),
        records: log.records(),
        end,
        dropped: (0..prepared.experiment.cells.len())
            .filter(|cell| !active.contains(cell))
            .collect(),
        cost: prepared.cost.as_ref(),
        forecast: forecast::after_first_block(&prepared, arguments.within, &log),
        load_unit: prepared.load_unit.symbol(),
        objective: prepared.objective.as_ref(),
        machine: cost::held(&plimsoll_probe::host_facts()),
        weights: arguments.weights.iter().cloned().collect(),
        cycles: cycles.as_ref(),
    };
    results::deliver(
        &outcome,
        &prepared.folder,
        log.path(),
        arguments.json,
        screen,
    )
}

/// Puts back what a killed experiment left applied, also when its file was changed since.
fn put_back(prepared: &PreparedMatrix, stop: &StopFlag) -> Result<(), CliError> {
    if service::has_applied(&prepared.folder) {
        open_services(prepared, stop)?.close()?;
    }
    Ok(())
}

fn open_services(
    prepared: &PreparedMatrix,
    stop: &StopFlag,
) -> Result<ExperimentServices, CliError> {
    services::open(
        Arc::clone(&prepared.experiment),
        &prepared.base,
        &prepared.folder,
        prepared.components.clone(),
        stop.clone(),
    )
}

fn carry_out(
    prepared: &mut PreparedMatrix,
    log: &mut ExperimentLog,
    blocks: &mut MatrixBlocks,
    arguments: &MatrixArguments,
    stop: &StopFlag,
) -> Result<plimsoll_lab::experiment::ExperimentEnd, CliError> {
    let services = open_services(prepared, stop)?;
    let mut line = TrialLine(LiveLine::new(arguments.quiet));
    let mut trials = ServiceTrials {
        services,
        loads: &mut prepared.loads,
        folder: prepared.folder.clone(),
        started_unix_ms: log.header().started_unix_ms,
        stop: stop.clone(),
        watcher: &mut line,
    };
    let mut progress = MatrixProgress {
        experiment: Arc::clone(&prepared.experiment),
        estimated_ms: prepared.estimated_ms.clone(),
        prices: prepared.cost.as_ref().and_then(|cost| cost.prices.clone()),
        budget: arguments.within,
        records_before: log.records().len(),
        metrics: [metrics::LOAD_LINE, metrics::P95, metrics::THROUGHPUT],
        quiet: arguments.quiet,
    };
    let end = run_experiment(log, blocks, &mut trials, stop, &mut progress);
    let closed = trials.services.close();
    line.0.clear();
    let end = end?;
    closed?;
    Ok(end)
}

/// Reads the file, and checks the loads of every cell before the first trial.
fn prepare(arguments: &MatrixArguments) -> Result<PreparedMatrix, CliError> {
    let experiment = Arc::new(plan_file::read_experiment(&arguments.file)?);
    let base = arguments.file.parent().unwrap_or(Path::new("")).to_owned();
    let folder = arguments
        .out
        .clone()
        .unwrap_or_else(|| Path::new("./plimsoll").join(&experiment.name));
    let loads = MatrixLoads::new(
        Arc::clone(&experiment),
        base.clone(),
        arguments.i_own_this,
        arguments.classes,
    );
    let (mut components, mut estimated_ms, mut prices) = (Vec::new(), Vec::new(), Vec::new());
    let mut rehearsed: BTreeMap<String, Rehearsal> = BTreeMap::new();
    for cell in 0..experiment.cells.len() {
        let found = match rehearsed.entry(loads.key(cell)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(loads.rehearse(cell)?),
        };
        if components.is_empty() {
            components.clone_from(&found.components);
        }
        let time = experiment.trial_time(cell, found.lasting);
        estimated_ms.push(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        prices.push(found.price.clone());
    }
    let (load_unit, objective) = loads.goal(0);
    Ok(PreparedMatrix {
        cost: CellCost::of(&experiment, &prices, &plimsoll_probe::host_facts())?,
        experiment,
        base,
        folder,
        loads,
        components,
        estimated_ms,
        load_unit,
        objective,
    })
}

fn header(
    prepared: &PreparedMatrix,
    arguments: &MatrixArguments,
) -> Result<ExperimentHeader, CliError> {
    let seed = match prepared.experiment.seed {
        Some(seed) => seed,
        None => {
            getrandom::u64().map_err(|error| CliError::new(Exit::Internal, error.to_string()))?
        }
    };
    Ok(ExperimentHeader {
        format: FORMAT,
        command: "matrix".to_owned(),
        source: arguments.file.display().to_string(),
        started_at: jiff::Timestamp::now().to_string(),
        started_unix_ms: clock::unix_ms(),
        seed,
        definition: definition::definition(&prepared.experiment, &prepared.loads, arguments)?,
    })
}

fn design(prepared: &PreparedMatrix, within: Option<Duration>, seed: Seed) -> MatrixDesign {
    let experiment = &prepared.experiment;
    let metric = match experiment.measure.measurement {
        Measurement::Limit(_) => metrics::LOAD_LINE,
        Measurement::PlanLoad | Measurement::Loads { .. } => metrics::P95,
    };
    MatrixDesign {
        cells: experiment.cells.len(),
        trials: experiment.trials,
        order: experiment.order,
        seed,
        reference: Some(0),
        estimated_ms: prepared.estimated_ms.clone(),
        race: within.map(|budget| Race {
            budget,
            metric: metric.to_owned(),
            criteria: criteria_of(metric, seed),
            prices: prepared
                .cost
                .as_ref()
                .map_or_else(Vec::new, |cost| cost.by_cell.clone()),
        }),
    }
}

impl From<ExperimentLogError> for CliError {
    fn from(error: ExperimentLogError) -> Self {
        Self::usage(chain(&error))
    }
}

impl From<ExperimentError> for CliError {
    fn from(error: ExperimentError) -> Self {
        match error {
            ExperimentError::Log(error) => error.into(),
            ExperimentError::Lab(error) => error.into(),
            ExperimentError::Apply(fault) => fault.into(),
        }
    }
}
