//! Whether the service carries the demand that the search is judged by, and with which margin.

use plimsoll_model::load_line::{LoadLine, NoLine, SearchResult};
use plimsoll_model::plan::{LoadUnit, RequiredLoad};
use plimsoll_model::run::Run;
use plimsoll_model::trial::Trial;

use super::{Carries, nearest_pass};
use crate::search::users;

/// The load that the service carries, over the demand: 2 for twice as much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margin {
    /// At the lower end of the line's 90 % interval.
    pub low: f64,
    /// At the line; where nothing broke the objective, at the highest load that passed.
    pub median: f64,
    /// At the upper end; `None` where nothing broke the objective.
    pub high: Option<f64>,
}

/// The answer to a demand.
#[derive(Clone, Debug, PartialEq)]
pub struct RequiredAnswer<'a> {
    /// The demand.
    pub required: &'a RequiredLoad,
    /// Whether the service carries it.
    pub carries: Carries,
    /// How much more than the demand it carries; `None` where the line is not known.
    pub margin: Option<Margin>,
}

/// Compares the result of a search with the demand of its plan; `None` without one.
pub fn required<'a>(run: &'a Run, search: &SearchResult) -> Option<RequiredAnswer<'a>> {
    let required = run.header.plan.required.as_deref()?;
    let (carries, margin) = match &search.line {
        Ok(line) => of_line(run, line, required),
        Err(none) => of_no_line(run, none, required),
    };
    Some(RequiredAnswer {
        required,
        carries,
        margin,
    })
}

fn of_line(run: &Run, line: &LoadLine, required: &RequiredLoad) -> (Carries, Option<Margin>) {
    let nearest = nearest_pass(run, line);
    let Some(demand) = nearest.and_then(|trial| in_unit_of(required, line.unit, trial)) else {
        return (Carries::WithinInterval, None);
    };
    let carries = if demand <= line.low.max(line.verified) {
        Carries::Yes
    } else if demand > line.high {
        Carries::No
    } else {
        Carries::WithinInterval
    };
    let margin = Margin {
        low: line.low / demand,
        median: line.median / demand,
        high: Some(line.high / demand),
    };
    (carries, Some(margin))
}

fn of_no_line(run: &Run, none: &NoLine, required: &RequiredLoad) -> (Carries, Option<Margin>) {
    let unit = run
        .header
        .plan
        .find
        .map_or(LoadUnit::default(), |find| find.unit);
    let highest = highest_pass(run);
    let demand = highest.and_then(|trial| in_unit_of(required, unit, trial));
    match (none, demand) {
        (NoLine::MissedAtOnce { .. }, _) => (Carries::No, None),
        (NoLine::NotReached { highest_passed }, Some(demand)) => {
            let share = highest_passed / demand;
            let margin = Margin {
                low: share,
                median: share,
                high: None,
            };
            let carries = if share >= 1.0 {
                Carries::Yes
            } else {
                Carries::WithinInterval
            };
            (carries, Some(margin))
        }
        // Nothing was confirmed, so it carries nothing for certain; a demand above the interval was refuted by trials.
        (none, Some(demand)) => {
            let known = none.estimate();
            let margin = known.map(|known| Margin {
                low: known.low / demand,
                median: known.median / demand,
                high: Some(known.high / demand),
            });
            let is_above = known.is_some_and(|known| demand > known.high);
            let carries = if is_above {
                Carries::No
            } else {
                Carries::WithinInterval
            };
            (carries, margin)
        }
        (_, None) => (Carries::WithinInterval, None),
    }
}

/// The highest load that passed.
fn highest_pass(run: &Run) -> Option<&Trial> {
    let passed = run
        .trials
        .iter()
        .filter(|trial| trial.spec.kind.counts_for_line() && trial.verdict.is_pass());
    passed.max_by(|a, b| a.spec.rate.total_cmp(&b.spec.rate))
}

/// The demand in the unit of the search, by the trial that was made nearest to the line; `None` where it cannot be
/// expressed in it.
fn in_unit_of(required: &RequiredLoad, unit: LoadUnit, trial: &Trial) -> Option<f64> {
    let load = required.load;
    let demand = match (required.unit, unit) {
        (LoadUnit::Users, LoadUnit::RequestsPerSecond) => {
            // Little's law: N = λ·(R + Z).
            let pause_s = required.pause?.as_secs_f64();
            users::rate(load, trial.response_us.mean / 1e6, pause_s)?
        }
        (required, searched) if required == searched => load,
        // Without journeys each arrival is one request.
        (LoadUnit::SessionsPerSecond, LoadUnit::RequestsPerSecond) => load,
        (LoadUnit::RequestsPerSecond, _) => {
            let per_unit = trial.throughput / trial.spec.rate;
            (per_unit.is_finite() && per_unit > 0.0).then(|| load / per_unit)?
        }
        _ => return None,
    };
    (demand.is_finite() && demand > 0.0).then_some(demand)
}

#[cfg(test)]
mod tests;
