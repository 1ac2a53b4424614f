//! The loads of trials: the plan or URL of a cell with the load of the experiment, resolved as `run` and `limit` do.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser as _;
use plimsoll_config::plan::Effort;
use plimsoll_lab::active_run::Assignment;
use plimsoll_lab::experiment::service_trials::{TrialLoad, TrialLoads, TrialWork, WarmLoad};
use plimsoll_lab::experiment::trial::{PlannedTrial, TrialRecord};
use plimsoll_lab::limit::{Ambition, LimitOrder};
use plimsoll_model::component::Component;
use plimsoll_model::experiment::{
    Experiment, FixedLoad, MeasureTarget, Measurement, SearchEffort, Warm,
};
use plimsoll_model::objective::Objective;
use plimsoll_model::plan::{Load, LoadUnit};
use plimsoll_model::price::Price;

use crate::arguments::{
    Classes, Cli, Command, LimitArguments, OutputArguments, RunArguments, TransportArguments,
};
use crate::exit::Exit;
use crate::explain::CliError;
use crate::plan_file;
use crate::planning::{self, Planned};

/// Requests in flight of a warm-up before a search, which has no load of its own.
const WARM_CONNECTIONS: u32 = 8;

/// Makes the loads of an experiment.
#[derive(Debug)]
pub(crate) struct ExperimentLoads {
    experiment: Arc<Experiment>,
    /// Folder of the experiment file.
    base: PathBuf,
    i_own_this: bool,
    classes: Option<Classes>,
}

/// A load that is resolved, with the arguments that it came from.
struct PlannedLoad {
    name: String,
    planned: Planned,
    search: Option<LimitOrder>,
    transport: TransportArguments,
    output: OutputArguments,
}

/// What is known of the loads of a cell before the first trial.
#[derive(Clone, Debug)]
pub(crate) struct Rehearsal {
    /// What the plan watches.
    pub(crate) components: Vec<Component>,
    /// How long the plan's own load lasts, or the longest search.
    pub(crate) lasting: Duration,
    /// The prices of the plan.
    pub(crate) price: Option<Price>,
}

/// How much load.
enum Amount {
    /// That of the plan.
    Own,
    Fixed(FixedLoad, Duration),
    Search(SearchEffort),
}

impl ExperimentLoads {
    pub(crate) fn new(
        experiment: Arc<Experiment>,
        base: PathBuf,
        i_own_this: bool,
        classes: Option<Classes>,
    ) -> Self {
        Self {
            experiment,
            base,
            i_own_this,
            classes,
        }
    }

    /// The plan file or URL of a cell, as `run` takes it; `None` where an axis of it is not varied.
    pub(crate) fn target(&self, cell: usize) -> Option<String> {
        let design = &self.experiment.design;
        let cell = &self.experiment.cell(cell)?;
        match &self.experiment.measure.target {
            MeasureTarget::Plan(path) => {
                let path = self.base.join(path.in_cell(design, cell)?);
                Some(path.to_string_lossy().into_owned())
            }
            MeasureTarget::Url(url) => url.in_cell(design, cell),
        }
    }

    /// Cells with the same text have the same loads.
    pub(crate) fn key(&self, cell: usize) -> String {
        let target = self.target(cell);
        match &self.experiment.measure.measurement {
            Measurement::Loads { loads, .. } => {
                let levels = self.experiment.cell(cell).unwrap_or_default();
                let loads: Vec<_> = loads.iter().map(|load| load.at(&levels)).collect();
                format!("{target:?} {loads:?}")
            }
            Measurement::PlanLoad | Measurement::Limit(_) => format!("{target:?}"),
        }
    }

    /// Resolves the loads of a cell.
    pub(crate) fn rehearse(&self, cell: usize) -> Result<Rehearsal, CliError> {
        let loads = self.planned(cell, 0)?;
        let first = loads.first().map(|load| &load.planned);
        let components = first.map(|planned| planned.watch.components.clone());
        let price = first.and_then(|planned| planned.plan.price.clone());
        let lasting = loads.iter().map(|load| match &load.search {
            Some(order) => longest(order.ambition),
            None => load.planned.plan.load.lasting(),
        });
        Ok(Rehearsal {
            components: components.unwrap_or_default(),
            lasting: lasting.sum(),
            price,
        })
    }

    /// The address of the target of a cell, and the `User-Agent` of the requests; `None` where it has a socket of the file
    /// system.
    pub(crate) fn client(&self, cell: usize) -> Result<Option<(SocketAddr, String)>, CliError> {
        let loads = self.planned(cell, 0)?;
        let plan = loads.first().map(|load| &load.planned.plan);
        let client = plan.and_then(|plan| {
            let mut headers = plan.request.headers.iter();
            let agent = headers.find(|(name, _)| name.eq_ignore_ascii_case("user-agent"))?;
            Some((plan.target.addresses.first().copied()?, agent.1.clone()))
        });
        Ok(client)
    }

    /// The unit of load lines, and the objective.
    pub(crate) fn goal(&self, cell: usize) -> (LoadUnit, Option<Objective>) {
        let loads = self.planned(cell, 0).unwrap_or_default();
        let Some(plan) = loads.into_iter().next().map(|load| load.planned.plan) else {
            return (LoadUnit::default(), None);
        };
        let unit = match plan.find {
            Some(find) => find.unit,
            None if plan.scenario.is_some() => LoadUnit::Users,
            None => LoadUnit::RequestsPerSecond,
        };
        (unit, plan.objective)
    }

    fn planned(&self, cell: usize, seed: u64) -> Result<Vec<PlannedLoad>, CliError> {
        let target = self.target_of(cell)?;
        let levels = self.experiment.cell(cell).unwrap_or_default();
        let amounts = match &self.experiment.measure.measurement {
            Measurement::PlanLoad => vec![Amount::Own],
            Measurement::Limit(effort) => vec![Amount::Search(*effort)],
            Measurement::Loads { loads, each } => loads
                .iter()
                .filter_map(|load| Some(Amount::Fixed(*load.at(&levels)?, *each)))
                .collect(),
        };
        if amounts.is_empty() {
            let text = self.cell_text(cell);
            return Err(CliError::usage(format!("no load has a value with {text}"))
                .remedy("give a load that does not depend on an axis which is not varied there"));
        }
        amounts
            .iter()
            .map(|amount| self.load(&target, amount, seed))
            .collect()
    }

    fn target_of(&self, cell: usize) -> Result<String, CliError> {
        self.target(cell).ok_or_else(|| {
            let text = self.cell_text(cell);
            CliError::usage(format!("the target has no value with {text}"))
                .remedy("name only axes in `measure` that are varied in every cell")
        })
    }

    fn cell_text(&self, cell: usize) -> String {
        let found = self.experiment.cell(cell);
        found.map_or_else(String::new, |cell| {
            self.experiment.design.describe(&cell).to_string()
        })
    }

    fn load(&self, target: &str, amount: &Amount, seed: u64) -> Result<PlannedLoad, CliError> {
        match amount {
            Amount::Search(effort) => {
                let arguments = self.limit_arguments(target, seed)?;
                let planned = planning::limit_plan(&arguments)?;
                Ok(PlannedLoad {
                    name: "limit".to_owned(),
                    search: Some(order(match effort {
                        SearchEffort::Quick => Ambition::Quick,
                        SearchEffort::Standard => Ambition::Standard,
                        SearchEffort::Thorough => Ambition::Thorough,
                        SearchEffort::Within(budget) => Ambition::Within(*budget),
                    })),
                    planned,
                    transport: arguments.transport,
                    output: arguments.output,
                })
            }
            Amount::Own => self.run_load(target, "own".to_owned(), &[], seed),
            Amount::Fixed(load, each) => {
                let (name, words) = fixed_words(*load, *each, has_journeys(target)?);
                self.run_load(target, name, &words, seed)
            }
        }
    }

    fn run_load(
        &self,
        target: &str,
        name: String,
        load: &[String],
        seed: u64,
    ) -> Result<PlannedLoad, CliError> {
        let arguments = self.run_arguments(target, load, seed)?;
        let planned = planning::run_plan(&arguments)?;
        let search = planned.plan.find.map(|_| {
            order(match planned.effort {
                Effort::Quick => Ambition::Quick,
                Effort::Standard => Ambition::Standard,
                Effort::Thorough => Ambition::Thorough,
            })
        });
        Ok(PlannedLoad {
            name,
            planned,
            search,
            transport: arguments.transport,
            output: arguments.output,
        })
    }

    fn run_arguments(
        &self,
        target: &str,
        load: &[String],
        seed: u64,
    ) -> Result<Box<RunArguments>, CliError> {
        let Command::Run(mut arguments) = self.parsed("run", target, load, seed)? else {
            unreachable!("the words begin with `run`");
        };
        let objective = &self.experiment.measure.objective;
        arguments.objective.clone_from(objective);
        arguments.output.classes = self.classes;
        Ok(arguments)
    }

    fn limit_arguments(&self, target: &str, seed: u64) -> Result<Box<LimitArguments>, CliError> {
        let Command::Limit(mut arguments) = self.parsed("limit", target, &[], seed)? else {
            unreachable!("the words begin with `limit`");
        };
        let objective = &self.experiment.measure.objective;
        arguments.objective.clone_from(objective);
        arguments.output.classes = self.classes;
        Ok(arguments)
    }

    /// The command with its defaults, as if it had been typed.
    fn parsed(
        &self,
        command: &str,
        target: &str,
        load: &[String],
        seed: u64,
    ) -> Result<Command, CliError> {
        let mut words = vec!["plimsoll".to_owned(), command.to_owned()];
        words.extend(["--quiet".to_owned(), format!("--seed={seed}")]);
        if self.i_own_this {
            words.push("--i-own-this".to_owned());
        }
        words.extend(load.iter().cloned());
        words.extend(["--".to_owned(), target.to_owned()]);
        let cli = Cli::try_parse_from(words)
            .map_err(|error| CliError::new(Exit::Usage, error.to_string()))?;
        Ok(cli.command)
    }

    /// The load before a trial: the first of its loads, or a small closed one before a search.
    fn warm(
        &self,
        cell: usize,
        first: &PlannedLoad,
        seed: u64,
    ) -> Result<Option<WarmLoad>, CliError> {
        let Some(warm) = self.experiment.warm else {
            return Ok(None);
        };
        let lasting = warm.longest();
        let mut assignment = if first.search.is_some() {
            let target = self.target_of(cell)?;
            let count = if has_journeys(&target)? {
                "users"
            } else {
                "connections"
            };
            let words = [format!("--{count}={WARM_CONNECTIONS}"), for_words(lasting)];
            let load = self.run_load(&target, String::new(), &words, seed)?;
            planning::assignment(load.planned, "run", &load.transport, &load.output)
        } else {
            let mut planned = first.planned.clone();
            stretch(&mut planned.plan.load, lasting);
            planning::assignment(planned, "run", &first.transport, &first.output)
        };
        assignment.plan.warmup = Duration::ZERO;
        assignment.plan.objective = None;
        Ok(Some(WarmLoad {
            assignment,
            until_steady: matches!(warm, Warm::Steady(_)),
        }))
    }

    /// The plan of a trial with another load, made of its own, instead of a search.
    ///
    /// # Errors
    /// The reason, when it cannot be resolved.
    pub(crate) fn with_load(
        &self,
        trial: &PlannedTrial,
        load: impl FnOnce(&Load) -> Load,
    ) -> Result<Assignment, String> {
        let effort = match &self.experiment.measure.measurement {
            Measurement::Limit(effort) => *effort,
            Measurement::PlanLoad | Measurement::Loads { .. } => SearchEffort::Quick,
        };
        let target = self.target_of(trial.cell);
        let planned = target
            .and_then(|target| self.load(&target, &Amount::Search(effort), trial.seed.0))
            .map_err(|error| reason(&error))?;
        let PlannedLoad {
            mut planned,
            transport,
            output,
            ..
        } = planned;
        planned.plan.load = load(&planned.plan.load);
        planned.plan.find = None;
        planned.plan.warmup = Duration::ZERO;
        Ok(planning::assignment(planned, "run", &transport, &output))
    }

    /// How a trial is warmed up by a load of a kind that is made for a time.
    ///
    /// # Errors
    /// The reason, when it cannot be resolved.
    pub(crate) fn warm_with(
        &self,
        trial: &PlannedTrial,
        load: impl FnOnce(&Load, Duration) -> Load,
    ) -> Result<Option<WarmLoad>, String> {
        let Some(warm) = self.experiment.warm else {
            return Ok(None);
        };
        let mut assignment = self.with_load(trial, |own| load(own, warm.longest()))?;
        assignment.plan.objective = None;
        Ok(Some(WarmLoad {
            assignment,
            until_steady: matches!(warm, Warm::Steady(_)),
        }))
    }
}

impl TrialLoads for ExperimentLoads {
    fn work(
        &mut self,
        trial: &PlannedTrial,
        _records: &[TrialRecord],
    ) -> Result<TrialWork, String> {
        let seed = trial.seed.0;
        let loads = self
            .planned(trial.cell, seed)
            .map_err(|error| reason(&error))?;
        let warm = match loads.first() {
            Some(first) => self.warm(trial.cell, first, seed),
            None => Ok(None),
        };
        let loads = loads.into_iter().map(|load| {
            let command = if load.search.is_some() {
                "limit"
            } else {
                "run"
            };
            TrialLoad {
                name: load.name,
                assignment: planning::assignment(
                    load.planned,
                    command,
                    &load.transport,
                    &load.output,
                ),
                search: load.search,
                ends_beyond_line: false,
            }
        });
        Ok(TrialWork {
            warm: warm.map_err(|error| reason(&error))?,
            loads: loads.collect(),
        })
    }
}

/// An error in a line.
fn reason(error: &CliError) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    text.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}

fn order(ambition: Ambition) -> LimitOrder {
    LimitOrder {
        ambition,
        ..LimitOrder::default()
    }
}

fn longest(ambition: Ambition) -> Duration {
    match ambition {
        Ambition::Quick => SearchEffort::Quick.longest(),
        Ambition::Standard => SearchEffort::Standard.longest(),
        Ambition::Thorough => SearchEffort::Thorough.longest(),
        Ambition::Within(budget) => budget,
    }
}

fn for_words(lasting: Duration) -> String {
    format!("--for={}ms", lasting.as_millis().max(1))
}

/// The name of a fixed load, and the words of `run` for it.
fn fixed_words(load: FixedLoad, each: Duration, has_journeys: bool) -> (String, Vec<String>) {
    let (name, word) = match load {
        FixedLoad::PerSecond(rate) => (format!("{rate}/s"), format!("--rate={rate}/s")),
        FixedLoad::Users(users) => {
            let flag = if has_journeys { "users" } else { "connections" };
            (format!("{users} users"), format!("--{flag}={users}"))
        }
    };
    (name, vec![word, for_words(each)])
}

/// Whether a target is a plan with journeys, so that loads count users.
fn has_journeys(target: &str) -> Result<bool, CliError> {
    Ok(plan_file::is_plan(target) && plan_file::rehearse(target, None)?.scenario.is_some())
}

/// Makes a load last as long as a warm-up: its first phase, at its highest.
fn stretch(load: &mut Load, lasting: Duration) {
    if let Load::Sessions { mixes, .. } = load {
        mixes.truncate(1);
    }
    match load {
        Load::Open { phases, .. } | Load::Sessions { phases, .. } => {
            let most = phases.iter().map(|phase| phase.from.max(phase.to));
            let most = most.fold(0.0, f64::max);
            *phases = vec![plimsoll_model::schedule::LoadPhase::constant(most, lasting)];
        }
        Load::Users { phases, .. } => {
            let most = phases.iter().map(|phase| phase.from.max(phase.to));
            let most = most.fold(0.0, f64::max);
            if let Some(mut phase) = phases.first().cloned() {
                (phase.from, phase.to, phase.lasting) = (most, most, lasting);
                *phases = vec![phase];
            }
        }
        Load::Closed { lasting: whole, .. } => *whole = lasting,
        Load::WebSockets(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_loads_are_words_of_run() {
        let minute = Duration::from_mins(1);
        let (name, words) = fixed_words(FixedLoad::PerSecond(0.5), minute, true);
        assert_eq!(
            (name.as_str(), words),
            (
                "0.5/s",
                vec!["--rate=0.5/s".to_owned(), "--for=60000ms".to_owned()]
            )
        );
        let (_, words) = fixed_words(FixedLoad::Users(200), minute, true);
        assert_eq!(words[0], "--users=200");
        let (name, words) = fixed_words(FixedLoad::Users(200), minute, false);
        assert_eq!(
            (name.as_str(), words[0].as_str()),
            ("200 users", "--connections=200")
        );
    }
}
