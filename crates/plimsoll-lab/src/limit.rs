//! `plimsoll limit`: the search for the load line, on the real target.

mod conclusion;
pub mod confirm_limit;
mod course;
mod trials;

use std::time::Duration;

use plimsoll_analysis::search::users::Population;
use plimsoll_analysis::search::{CiGate, Search, SearchParameters};
use plimsoll_model::journey::{AtEnd, Feed, FeedOrder, Scenario};
use plimsoll_model::load_line::Remark;
use plimsoll_model::objective::Objective;
use plimsoll_model::plan::{Find, LoadUnit, Plan};

use crate::active_run::{ActiveRun, Assignment, Finished};
use crate::error::LabError;
use crate::progress::{StopFlag, Watcher};
use confirm_limit::ConfirmOptions;
use course::Course;
use trials::Trials;

/// How much time the answer is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ambition {
    /// At most 4 minutes; for users as much longer as their trials are (`docs/decisions/0071-search-in-users.md`).
    Quick,
    /// At most 15 minutes.
    #[default]
    Standard,
    /// An hour at most.
    Thorough,
    /// Quicker than quick, within this time: shorter trials and a wider interval.
    Within(Duration),
}

/// The options of the search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LimitOrder {
    /// How much time the answer is worth.
    pub ambition: Ambition,
    /// Only decide whether the line is at least this high, in the unit of the search.
    pub at_least: Option<f64>,
    /// Users that the target must carry.
    pub users: Option<u32>,
    /// Pause of a user between an answer and the next request.
    pub think: Option<Duration>,
    /// Raise the named limit, and test whether the line rises.
    pub confirm: Option<ConfirmOptions>,
}

/// Finds the load line of the plan's target, or decides the gate.
///
/// # Errors
/// When the instrument fails: no run log, no engine. What the target does is data.
pub fn limit(
    assignment: Assignment,
    order: &LimitOrder,
    stop: StopFlag,
    watcher: &mut dyn Watcher,
) -> Result<Finished, LabError> {
    let active_run = ActiveRun::open(with_find(assignment), stop)?;
    let plan = active_run.plan();
    // The CLI always passes an objective; a search without one has no goal.
    let objective = plan.objective.clone().unwrap_or(Objective {
        latency: Vec::new(),
        errors_max: Some(0.01),
        ..Objective::default()
    });
    let mut parameters = parameters(order.ambition, objective.clone());
    parameters.in_flight_cap = u64::from(plan.transport.connections_max);
    let remark = search_for(plan, &mut parameters);
    let course = if let Some(rate) = order.at_least {
        Course::Gate(Box::new(CiGate::new(rate, parameters)), plan.seed)
    } else {
        let mut search = Search::new(parameters, plan.seed);
        if let Some(remark) = remark {
            search.remark(remark);
        }
        Course::Search(Box::new(search))
    };
    let (verdict, void) = {
        let mut trials = Trials::new(&active_run, objective);
        let result = trials.carry_out(course, watcher)?;
        conclusion::conclude(&active_run, order, result, &mut trials, watcher)?
    };
    active_run.close(verdict, void)
}

/// A plan of journeys without a search goal: as many users as possible.
fn with_find(mut assignment: Assignment) -> Assignment {
    let plan = &mut assignment.plan;
    let is_rate = |find: Find| find.unit == LoadUnit::RequestsPerSecond;
    if plan.scenario.is_some() && plan.find.is_none_or(is_rate) {
        plan.find = Some(Find {
            unit: LoadUnit::Users,
            from: None,
            to: None,
        });
    }
    if plan.scenario.is_none() {
        // Without journeys users have no steps.
        plan.find = plan.find.filter(|&find| is_rate(find));
    }
    assignment
}

/// Applies the search goal of the plan: unit and range. Adds a note when its data bound the range.
fn search_for(plan: &Plan, parameters: &mut SearchParameters) -> Option<Remark> {
    let find = plan.find?;
    parameters.first_rate = find.from;
    parameters.rate_max = find.to;
    let scenario = plan.scenario.as_ref()?;
    parameters.population = Some(Population::of(plan, scenario, find.unit));
    parameters.has_thresholds = !scenario.thresholds.is_empty();
    if find.unit != LoadUnit::Users {
        return None;
    }
    // Users never have more in flight than they are.
    parameters.in_flight_cap = u64::MAX;
    let rows = unique_rows(scenario)?;
    let most = parameters.rate_max.unwrap_or(f64::INFINITY);
    (most > rows as f64).then(|| {
        parameters.rate_max = Some(rows as f64);
        Remark::Note {
            text: format!(
                "the data has unique rows for {rows} users only, so no more were tried; add rows, or set at_end: recycle"
            ),
        }
    })
}

/// The fewest rows of data of which each user takes one for good; `None` when none runs out.
fn unique_rows(scenario: &Scenario) -> Option<u64> {
    let runs_out = |feed: &&Feed| {
        feed.order == FeedOrder::Unique && feed.at_end != AtEnd::Recycle && !feed.each_iteration
    };
    let feeds = scenario.feeds.iter().filter(runs_out);
    feeds.map(|feed| feed.rows).min()
}

fn parameters(ambition: Ambition, objective: Objective) -> SearchParameters {
    match ambition {
        Ambition::Quick => SearchParameters::quick(objective),
        Ambition::Standard => SearchParameters::standard(objective),
        Ambition::Thorough => SearchParameters::thorough(objective),
        Ambition::Within(budget) => within(budget, objective),
    }
}

fn within(budget: Duration, objective: Objective) -> SearchParameters {
    SearchParameters {
        budget,
        measure_s: 6,
        noise: (3, 2),
        width: 0.25,
        ..SearchParameters::quick(objective)
    }
}
