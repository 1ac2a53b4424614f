//! `plimsoll matrix`: the same measurement in every cell of a matrix of settings.

mod cost;
mod cycle;
mod forecast;
mod progress;
mod results;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_analysis::experiment::metrics;
use plimsoll_analysis::experiment::result::criteria_of;
use plimsoll_lab::experiment::log::{
    ExperimentHeader, ExperimentLog, ExperimentLogError, FILE_NAME,
};
use plimsoll_lab::experiment::matrix::{MatrixBlocks, MatrixDesign, Race};
use plimsoll_lab::experiment::run_experiment;
use plimsoll_lab::experiment::service_trials::ServiceTrials;
use plimsoll_lab::progress::StopFlag;
use plimsoll_model::component::Component;
use plimsoll_model::experiment::Measurement;
use plimsoll_model::objective::Objective;
use plimsoll_model::plan::LoadUnit;
use plimsoll_model::price::HeldResources;
use plimsoll_model::seed::Seed;
use plimsoll_report::matrix::forecast_summary;
use serde_json::json;

use self::cost::CellCost;
use self::progress::MatrixProgress;
use self::results::Outcome;
use crate::arguments::MatrixArguments;
use crate::cycles::CycleTarget;
use crate::exit::Exit;
use crate::experiment::{ExperimentFile, ExperimentLoads, Rehearsal, definition};
use crate::explain::CliError;
use crate::live;
use crate::live_line::{LiveLine, TrialLine};
use crate::metrics_export;
use crate::screen::{Screen, eprint, print};
use crate::signals;

/// An experiment that is read and checked.
struct PreparedMatrix {
    file: ExperimentFile,
    loads: ExperimentLoads,
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
        let seed = prepared.file.experiment.seed;
        let forecast = forecast::object(&prepared, arguments.within, seed, &[]);
        if arguments.json {
            print(&forecast.json());
        } else {
            print(&forecast_summary(&forecast, screen.colours_data()));
        }
        return Ok(Exit::Met);
    }
    let is_there = prepared.file.folder.join(FILE_NAME).exists();
    if arguments.resume && !is_there {
        return Err(CliError::usage(format!(
            "there is no experiment to resume in {}",
            prepared.file.folder.display()
        ))
        .remedy("name its folder with --out DIR, or start one without --resume"));
    }
    let stop = StopFlag::default();
    signals::raise_on_interrupt(&stop)?;
    let mut log = match ExperimentLog::open(&prepared.file.folder, header(&prepared, arguments)?) {
        Err(error @ ExperimentLogError::OtherExperiment { .. }) => {
            prepared.file.put_back(&prepared.components, &stop)?;
            return Err(error.into());
        }
        opened => opened?,
    };
    let _page = live::open(arguments.live_page.address, &stop)?;
    let _exports = metrics_export::open(&arguments.export, &prepared.file.folder, "matrix");
    live::attach_experiment(&mut log);
    let seed = log.header().seed;
    if !arguments.quiet {
        let forecast = forecast::object(&prepared, arguments.within, Some(seed), log.records());
        eprint(forecast_summary(&forecast, false).trim_end());
        eprint(&format!(
            "seed {seed}, results in {}",
            prepared.file.folder.display()
        ));
    }
    let design = design(&prepared, arguments.within, Seed(seed));
    let mut blocks = MatrixBlocks::new(design);
    let end = carry_out(&mut prepared, &mut log, &mut blocks, arguments, &stop)?;
    let active = blocks.active();
    let cycles = CycleTarget::of(&arguments.cycles, None);
    let outcome = Outcome {
        experiment: &prepared.file.experiment,
        header: log.header(),
        records: log.records(),
        end,
        dropped: (0..prepared.file.experiment.listed().len())
            .filter(|cell| !active.contains(cell))
            .collect(),
        cost: prepared.cost.as_ref(),
        forecast: forecast::after_first_block(&prepared, arguments.within, &log),
        load_unit: prepared.load_unit.symbol(),
        objective: prepared.objective.as_ref(),
        machine: HeldResources::of_machine(&plimsoll_probe::host_facts()),
        weights: arguments.weights.iter().cloned().collect(),
        cycles: cycles.as_ref(),
    };
    results::deliver(
        &outcome,
        &prepared.file.folder,
        log.path(),
        arguments.json,
        screen,
    )
}

fn carry_out(
    prepared: &mut PreparedMatrix,
    log: &mut ExperimentLog,
    blocks: &mut MatrixBlocks,
    arguments: &MatrixArguments,
    stop: &StopFlag,
) -> Result<plimsoll_model::experiment::ExperimentEnd, CliError> {
    let services = prepared.file.open_services(&prepared.components, stop)?;
    let mut line = TrialLine(LiveLine::new(arguments.quiet));
    let mut trials = ServiceTrials {
        services,
        loads: &mut prepared.loads,
        folder: prepared.file.folder.clone(),
        started_unix_ms: log.header().started_unix_ms,
        stop: stop.clone(),
        watcher: &mut line,
    };
    let mut progress = MatrixProgress {
        experiment: Arc::clone(&prepared.file.experiment),
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
    let file = ExperimentFile::read(&arguments.file, arguments.out.as_deref())?;
    let experiment = Arc::clone(&file.experiment);
    if experiment.tuning.is_some() {
        return Err(
            CliError::usage("the file has knobs, which a matrix does not search")
                .remedy("plimsoll tune FILE; or name the levels to compare as `axes`"),
        );
    }
    let loads = file.loads(arguments.i_own_this, arguments.classes);
    let (mut components, mut estimated_ms, mut prices) = (Vec::new(), Vec::new(), Vec::new());
    let mut rehearsed: BTreeMap<String, Rehearsal> = BTreeMap::new();
    for (cell, levels) in experiment.listed().iter().enumerate() {
        let found = match rehearsed.entry(loads.key(cell)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(loads.rehearse(cell)?),
        };
        if components.is_empty() {
            components.clone_from(&found.components);
        }
        let time = experiment.trial_time(levels, found.lasting);
        estimated_ms.push(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        prices.push(found.price.clone());
    }
    let (load_unit, objective) = loads.goal(0);
    Ok(PreparedMatrix {
        cost: CellCost::of(&experiment, &prices, &plimsoll_probe::host_facts())?,
        file,
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
    let classes = arguments.classes.map(|classes| classes.0);
    let further = vec![
        ("race", json!(arguments.within.is_some())),
        ("classes", json!(classes)),
    ];
    let definition = definition(&prepared.file.experiment, &prepared.loads, further)?;
    prepared.file.header("matrix", &arguments.file, definition)
}

fn design(prepared: &PreparedMatrix, within: Option<Duration>, seed: Seed) -> MatrixDesign {
    let experiment = &prepared.file.experiment;
    let metric = match experiment.measure.measurement {
        Measurement::Limit(_) => metrics::LOAD_LINE,
        Measurement::PlanLoad | Measurement::Loads { .. } => metrics::P95,
    };
    MatrixDesign {
        cells: experiment.listed().len(),
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
