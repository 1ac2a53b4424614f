//! The loads of trials: a rate, the load of the plan, or a load that rises through the load line.

use std::time::Duration;

use clap::Parser as _;
use plimsoll_lab::active_run::Assignment;
use plimsoll_lab::experiment::service_trials::{TrialLoad, TrialLoads, TrialWork};
use plimsoll_lab::experiment::trial::{PlannedTrial, TrialRecord};
use plimsoll_model::objective::Objective;

use super::sides::Sides;
use crate::arguments::{Cli, Command, LiveArguments, RunArguments};
use crate::exit::Exit;
use crate::explain::CliError;
use crate::planning::{self, Planned};

/// Load of a trial at a rate, if `--for` gives no other.
const RATE_FOR: Duration = Duration::from_secs(5);
/// Part at the start of it that is not judged.
const RATE_WARMUP: Duration = Duration::from_secs(1);
/// Shortest load that rises.
const RAMP_FOR: Duration = Duration::from_secs(12);
/// Longest.
const RAMP_FOR_MAX: Duration = Duration::from_mins(1);
/// Begin and end of a load that rises, in shares of what the baseline carries.
const RAMP: (f64, f64) = (0.5, 1.5);
/// Length of a load that rises by the longest response time of the objective: beyond what a service carries, a queue
/// first has to grow to it (t²/2 · slope = bound · capacity), and after that the load must go on for a while.
const RAMP_FOR_BY_BOUND: f64 = 16.5;
/// Load by which the capacity of the baseline is found.
const PROBE_CONNECTIONS: u32 = 32;
/// How long.
const PROBE_FOR: Duration = Duration::from_secs(5);
/// Objective of a line that the plan does not define.
const OBJECTIVE_DEFAULT: &str = "p95 < 500ms, errors < 1%";

/// How much load a trial has.
#[derive(Clone, Copy, Debug, PartialEq)]
enum TrialAmount {
    /// The load of the plan.
    Own,
    /// Arrivals per second.
    Rate(f64),
    /// From half to one and a half times this many requests per second.
    Ramp(f64),
}

/// Makes the loads of both sides.
#[derive(Debug)]
pub(super) struct SideLoads<'s> {
    sides: &'s Sides,
    amount: Option<TrialAmount>,
    lasting: Option<Duration>,
    objective: Option<Objective>,
    i_own_this: bool,
}

impl<'s> SideLoads<'s> {
    /// The loads that the flags ask for, checked on both sides.
    pub(super) fn of(sides: &'s Sides, live: &LiveArguments) -> Result<Self, CliError> {
        let mut loads = Self {
            sides,
            amount: live.rate.map(TrialAmount::Rate),
            lasting: live.lasting,
            objective: live.objective.clone(),
            i_own_this: live.i_own_this,
        };
        let [before, after] = [0, 1].map(|cell| loads.planned(cell, &[], 0));
        let before = before?;
        after?;
        if loads.amount.is_some() {
            return Ok(loads);
        }
        if sides.has_fixed_load() {
            loads.amount = Some(TrialAmount::Own);
        } else if before.1.plan.scenario.is_some() {
            return Err(CliError::usage(
                "the plan has journeys and no fixed load, so trials need one",
            )
            .remedy("give --rate, or a `load:` in the plan that is not a search"));
        }
        Ok(loads)
    }

    /// Whether the load lines are compared, so that what the baseline carries has to be found first.
    pub(super) fn needs_capacity(&self) -> bool {
        self.amount.is_none()
    }

    /// Sets what the baseline carries, requests per second.
    pub(super) fn set_capacity(&mut self, capacity: f64) {
        // A line needs an objective, and all trials the same.
        self.objective = Some(self.line_objective());
        self.amount = Some(TrialAmount::Ramp(capacity));
    }

    /// A closed load on the baseline: its throughput is what the service carries.
    pub(super) fn probe(&self, seed: u64) -> Result<Assignment, CliError> {
        let words = [
            format!("--connections={PROBE_CONNECTIONS}"),
            for_words(PROBE_FOR),
        ];
        let (arguments, mut planned) = self.planned(0, &words, seed)?;
        // Judged by nothing: it is an overload.
        planned.plan.objective = None;
        Ok(assignment(&arguments, planned))
    }

    fn words(&self, amount: TrialAmount) -> Vec<String> {
        match amount {
            TrialAmount::Own => self.lasting.map(for_words).into_iter().collect(),
            TrialAmount::Rate(rate) => {
                let lasting = self.lasting.unwrap_or(RATE_FOR + RATE_WARMUP);
                let mut words = vec![format!("--rate={rate}/s"), for_words(lasting)];
                if lasting > 2 * RATE_WARMUP {
                    words.push(format!("--warmup={}ms", RATE_WARMUP.as_millis()));
                }
                words
            }
            TrialAmount::Ramp(capacity) => {
                let (from, to) = (capacity * RAMP.0, capacity * RAMP.1);
                let lasting = self
                    .lasting
                    .unwrap_or_else(|| ramp_for(&self.line_objective()));
                vec![format!(
                    "--phase={from:.3}/s..{to:.3}/s:{}ms",
                    lasting.as_millis()
                )]
            }
        }
    }

    /// The objective of a load line.
    fn line_objective(&self) -> Objective {
        let own = || self.planned(0, &[], 0).ok()?.1.plan.objective;
        let default = || plimsoll_config::objective::objective(OBJECTIVE_DEFAULT).ok();
        self.objective
            .clone()
            .or_else(own)
            .or_else(default)
            .unwrap_or_default()
    }

    fn planned(
        &self,
        cell: usize,
        load: &[String],
        seed: u64,
    ) -> Result<(Box<RunArguments>, Planned), CliError> {
        let (what, target) = self.sides.target(cell);
        let mut words: Vec<String> = ["plimsoll", "run", "--quiet"].map(str::to_owned).to_vec();
        words.push(format!("--seed={seed}"));
        words.extend(target.map(|target| format!("--target={target}")));
        if self.i_own_this {
            words.push("--i-own-this".to_owned());
        }
        words.extend(load.iter().cloned());
        words.extend(["--".to_owned(), what.to_owned()]);
        let cli = Cli::try_parse_from(words)
            .map_err(|error| CliError::new(Exit::Usage, error.to_string()))?;
        let Command::Run(mut arguments) = cli.command else {
            unreachable!("the words begin with `run`");
        };
        arguments.objective.clone_from(&self.objective);
        let planned = planning::run_plan(&arguments)?;
        Ok((arguments, planned))
    }
}

fn assignment(arguments: &RunArguments, planned: Planned) -> Assignment {
    planning::assignment(planned, "run", &arguments.transport, &arguments.output)
}

fn for_words(lasting: Duration) -> String {
    format!("--for={}ms", lasting.as_millis().max(1))
}

/// How long a load rises so that it goes well beyond the line.
fn ramp_for(objective: &Objective) -> Duration {
    let bound = objective.strictest().map_or(0, |bound| bound.within_us);
    Duration::from_micros(bound)
        .mul_f64(RAMP_FOR_BY_BOUND)
        .clamp(RAMP_FOR, RAMP_FOR_MAX)
}

impl TrialLoads for SideLoads<'_> {
    fn work(
        &mut self,
        trial: &PlannedTrial,
        _records: &[TrialRecord],
    ) -> Result<TrialWork, String> {
        let amount = self
            .amount
            .ok_or("the capacity of the baseline is not known")?;
        let words = self.words(amount);
        let (arguments, planned) = self
            .planned(trial.cell, &words, trial.seed.0)
            .map_err(|error| one_line(&error))?;
        Ok(TrialWork {
            warm: None,
            loads: vec![TrialLoad {
                name: "load".to_owned(),
                assignment: assignment(&arguments, planned),
                search: None,
                ends_beyond_line: false,
            }],
        })
    }
}

/// An error in a line.
fn one_line(error: &CliError) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    text.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_rises_longer_for_a_longer_bound() {
        let lasting = |text: &str| ramp_for(&plimsoll_config::objective::objective(text).unwrap());
        assert_eq!(lasting("p95 < 100ms"), RAMP_FOR);
        assert_eq!(lasting("p95 < 2s"), Duration::from_secs(33));
        assert_eq!(lasting("p95 < 20s"), RAMP_FOR_MAX);
    }
}
