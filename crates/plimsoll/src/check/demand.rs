//! What the users need: from a plan, from a run, or assumed.

use std::path::Path;

use plimsoll_analysis::experiment::metrics::{
    ALL_PREFIX, CPU_PER_REQUEST, MEAN, RunMetrics, THROUGHPUT,
};
use plimsoll_analysis::search::users::Population;
use plimsoll_analysis::summary::Summary;
use plimsoll_config::plan::{LoadPlan, PlanFile};
use plimsoll_config::sentence::DemandSentence;
use plimsoll_lab::run_log;
use plimsoll_model::journey::Scenario;
use plimsoll_model::plan::{Load, LoadUnit};
use plimsoll_model::run::Run;
use plimsoll_model::{labels, metric};
use plimsoll_probe::advice::Demand;

use crate::arguments::{CheckArguments, ForWhom, WrittenSentence};
use crate::explain::CliError;
use crate::screen::eprint;
use crate::{plan_file, sentence};

/// How long the response to a request of a plan is assumed to take, s.
const TAKES_S: f64 = 0.5;

/// The demand of the arguments, and the plan that they name.
pub(super) fn of(arguments: &CheckArguments) -> Result<(Demand, Option<PlanFile>), CliError> {
    let users = match &arguments.whom {
        None => None,
        Some(ForWhom::Users(users)) => Some(*users),
        Some(ForWhom::Sentence(written)) => return of_sentence(arguments, written),
    };
    if let Some(file) = &arguments.plan {
        let plan = plan_file::rehearse(file, arguments.target.as_deref())?;
        plan_file::report_unwatched(&plan.watch);
        let demand = of_plan(&plan, file, users)?;
        return Ok((demand, Some(plan)));
    }
    if let Some(file) = &arguments.run {
        let run = run_log::read(file)?.run;
        return Ok((of_run(&run, file, users)?, None));
    }
    let demand = users.map_or_else(Demand::early, Demand::assumed);
    Ok((demand, None))
}

/// The demand of a sentence. A plan or a run tells what users do, so only their number may come with one.
fn of_sentence(
    arguments: &CheckArguments,
    written: &WrittenSentence,
) -> Result<(Demand, Option<PlanFile>), CliError> {
    if let DemandSentence::Users {
        count, pause: None, ..
    } = &written.demand
    {
        let number = ForWhom::Users(u64::from(*count));
        return of(&CheckArguments {
            whom: Some(number),
            ..arguments.clone()
        });
    }
    if arguments.plan.is_some() || arguments.run.is_some() {
        let flag = if arguments.plan.is_some() {
            "--plan"
        } else {
            "--run"
        };
        return Err(CliError::usage(format!(
            "{flag} tells what users do, and so does the sentence"
        ))
        .remedy(format!(
            "give their number alone with {flag}: --for 3000-users"
        )));
    }
    let demand = sentence::demand(written)?;
    eprint(&format!("read as: {} ({})", written.demand, demand.source));
    Ok((demand, None))
}

fn without_users(file: &str) -> CliError {
    CliError::usage(format!("how many users? {file} does not tell"))
        .remedy("add --for 3000-users, or the number that you expect at once")
}

/// Users who take the steps of a plan.
fn of_plan(plan: &PlanFile, file: &str, users: Option<u64>) -> Result<Demand, CliError> {
    let scenario = plan.scenario.as_ref().ok_or_else(|| {
        CliError::usage(format!(
            "{file} has no journeys: what a user requests is not known"
        ))
        .remedy("name a plan with `journeys:` or `steps:`, or a run by --run FILE")
    })?;
    let users = users.or_else(|| peak(plan.load.as_ref()));
    let users = users.ok_or_else(|| without_users(file))?;
    Ok(of_journeys(scenario, file, users))
}

fn of_journeys(scenario: &Scenario, file: &str, users: u64) -> Demand {
    let population = Population::of_journeys(scenario, LoadUnit::Users);
    let each = population.requests_per_unit(TAKES_S);
    let rate = users as f64 * each;
    let left_out = if scenario.has_pages() {
        ", resources of pages left out"
    } else {
        ""
    };
    Demand {
        users,
        rate,
        in_flight: rate * TAKES_S,
        connections: users as f64 * connections_of(scenario),
        cpus: None,
        source: format!(
            "{file}: each sends a request every {:.1} s, which is assumed to take {TAKES_S} s{left_out}",
            1.0 / each
        ),
        is_given: true,
    }
}

/// Connections of a user, by the journeys' weights.
fn connections_of(scenario: &Scenario) -> f64 {
    let weights: f64 = scenario.journeys.iter().map(|journey| journey.weight).sum();
    let journeys = scenario.journeys.iter();
    let sum: f64 = journeys
        .map(|journey| journey.weight * f64::from(journey.connections.max(1)))
        .sum();
    if weights > 0.0 { sum / weights } else { 1.0 }
}

/// The most users at once of a load in users.
fn peak(load: Option<&LoadPlan>) -> Option<u64> {
    let Some(LoadPlan::Fixed(load)) = load else {
        return None;
    };
    match load {
        Load::Users { phases, .. } => {
            let ends = phases.iter().flat_map(|phase| [phase.from, phase.to]);
            whole(ends.fold(0.0, f64::max).ceil())
        }
        Load::Closed { connections, .. } => Some(u64::from(*connections)),
        Load::Open { .. } | Load::Sessions { .. } | Load::WebSockets(_) => None,
    }
}

/// A number of users; `None` for none.
fn whole(count: f64) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of users, which is not negative"
    )]
    let whole = count as u64;
    (whole > 0).then_some(whole)
}

/// Users like those of a run, with its response times and the CPU time that it took.
fn of_run(run: &Run, path: &Path, users: Option<u64>) -> Result<Demand, CliError> {
    let file = path.display().to_string();
    let metrics = RunMetrics::of(run);
    let (Some(throughput), Some(response_ms)) = (
        metrics.value(THROUGHPUT),
        metrics.value(&format!("{ALL_PREFIX}{MEAN}")),
    ) else {
        return Err(CliError::usage(format!("{file} has no measured response"))
            .remedy("name a run that met its target, or leave --run out"));
    };
    let users = users
        .or_else(|| users_of(run))
        .ok_or_else(|| without_users(&file))?;
    let growth = growth(run, users as f64);
    let assumed = Demand::assumed(users).rate;
    let rate = growth.map_or(assumed, |growth| throughput * growth);
    let of_each = if growth.is_some() { "" } else { "assumed: " };
    Ok(Demand {
        users,
        rate,
        in_flight: rate * response_ms / 1e3,
        connections: users as f64 * connections_in(run),
        cpus: cpu_ms(&metrics).map(|cpu_ms| rate * cpu_ms / 1e3),
        source: format!(
            "{of_each}each sends a request every {:.1} s; measured in {file}: it takes {response_ms:.0} ms",
            users as f64 / rate
        ),
        is_given: true,
    })
}

/// The most users of a run, or those of its line.
fn users_of(run: &Run) -> Option<u64> {
    if let Some(line) = line_in_users(run) {
        return whole(line);
    }
    if let Load::Closed { connections, .. } = &run.header.plan.load {
        return Some(u64::from(*connections));
    }
    run.windows
        .iter()
        .map(|window| window.users)
        .max()
        .filter(|users| *users > 0)
}

/// The verified load of a search in users.
fn line_in_users(run: &Run) -> Option<f64> {
    let line = run.search.as_ref()?.line.as_ref().ok()?;
    (line.unit == LoadUnit::Users).then_some(line.verified)
}

/// Requests per second of a number of users over those of the run, if that had users.
fn growth(run: &Run, users: f64) -> Option<f64> {
    if let Some(line) = line_in_users(run) {
        return Some(users / line);
    }
    if let (Load::Closed { connections, .. }, None) = (&run.header.plan.load, &run.search) {
        return Some(users / f64::from(*connections));
    }
    let breakdown = Summary::of(run).breakdown?;
    let little = breakdown.users?.little?;
    Some(little.rate_of(users) / little.throughput)
}

/// Connections for each user, in the second with most users.
fn connections_in(run: &Run) -> f64 {
    let busiest = run.windows.iter().max_by_key(|window| window.users);
    let ratio = busiest.filter(|window| window.users > 0);
    ratio.map_or(1.0, |window| {
        (window.connections as f64 / window.users as f64).max(1.0)
    })
}

/// CPU time of a request, in the target and behind it, ms.
fn cpu_ms(metrics: &RunMetrics) -> Option<f64> {
    let target = metrics.value(CPU_PER_REQUEST)?;
    let behind = labels::series(CPU_PER_REQUEST, &[("process", metric::BEHIND)]);
    Some(target + metrics.value(&behind).unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_model::journey::{Journey, Step, ThinkTime, UserPhase};

    use super::*;

    #[test]
    fn a_plan_tells_what_a_user_requests() {
        let think = |seconds| Step::Think(ThinkTime::Fixed(Duration::from_secs(seconds)));
        let journey = |weight, connections, steps| Journey {
            weight,
            connections,
            steps,
            ..Journey::default()
        };
        let scenario = Scenario {
            journeys: vec![
                journey(3.0, 1, vec![think(20)]),
                journey(1.0, 5, vec![think(16)]),
            ],
            ..Scenario::default()
        };
        let demand = of_journeys(&scenario, "exam.yaml", 3000);
        // One request and 19 s of thinking on average, and half a second for the response.
        assert!((demand.rate - 3000.0 / 19.5).abs() < 1e-9, "{demand:?}");
        assert!((demand.in_flight - 1500.0 / 19.5).abs() < 1e-9);
        assert!((demand.connections - 6000.0).abs() < 1e-9);
        assert!(
            demand
                .source
                .contains("exam.yaml: each sends a request every 19.5 s")
        );
    }

    #[test]
    fn the_most_users_of_a_load() {
        let phase = |from, to| UserPhase {
            from,
            to,
            lasting: Duration::from_mins(1),
            mix: Vec::new(),
        };
        let load = Load::Users {
            phases: vec![phase(0.0, 250.0), phase(250.0, 10.0)],
            iterations: None,
        };
        assert_eq!(peak(Some(&LoadPlan::Fixed(load))), Some(250));
        assert_eq!(peak(None), None);
    }
}
