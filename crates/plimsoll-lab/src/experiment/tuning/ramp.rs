//! How a load rises through the load line of a setting, sized by what is known of it.
//!
//! A trial of a search for settings is a load that rises from a little below the line to well beyond it. Where the line of a
//! setting is not known, that of the default and the best of all settings bound it; a load that misses it is followed by a
//! further one, higher or lower.

use std::time::Duration;

use plimsoll_analysis::experiment::metrics::LOAD_LINE;
use plimsoll_analysis::experiment::metrics::ramp::{Crossing, risen};
use plimsoll_model::journey::UserPhase;
use plimsoll_model::objective::Objective;
use plimsoll_model::plan::{Load, LoadUnit};
use plimsoll_model::schedule::{LoadPhase, Spacing};

use super::lines;
use crate::active_run::Finished;
use crate::experiment::trial::{PlannedTrial, RecordedOutcome, TrialRecord, TrialRole};

/// Begin and end of a load whose line is known, in shares of the line.
const AROUND: (f64, f64) = (0.7, 1.5);
/// Begin of a load of a setting whose line is not known, in shares of the best line, where that is far above the default's.
const BELOW_BEST: f64 = 0.5;
/// How many times the default's line the best must be for that.
const FAR: f64 = 2.0;
/// End of a further load, in shares of its begin.
const FURTHER: f64 = 2.0;
/// Further loads of a trial at most: up to twelve times the line that the first was sized by.
const FURTHER_MAX: u32 = 3;

/// Time at the begin of the load, before it rises: connections open, caches fill.
const LEAD: Duration = Duration::from_secs(5);
/// Shortest rise of a rate.
const RISE: Duration = Duration::from_secs(20);
/// Shortest rise of users: each first has to think.
const RISE_OF_USERS: Duration = Duration::from_mins(1);
/// Longest rise.
const RISE_MAX: Duration = Duration::from_mins(3);
/// Length of a rise by the longest response time of the objective: beyond what a service carries, a queue first has to grow
/// to it (t²/2 · slope = bound · capacity), and after that the load must go on for a while.
const RISE_BY_BOUND: f64 = 16.5;
/// Requests that the first three seconds of a rise need: ten by the share that is bad at the line, a half.
const REQUESTS_IN_THREE_SECONDS: f64 = 20.0;
/// Users that arrive in a second at most.
const ARRIVALS_PER_S: f64 = 50.0;
/// Fewest users between begin and end.
const USERS_BETWEEN_MIN: f64 = 2.0;

/// The longest time of all loads of a trial.
pub(super) const LONGEST: Duration = Duration::from_mins(15);

/// A load that rises through the load line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RampShape {
    /// Load at its begin, in the unit of the search.
    pub from: f64,
    /// Load at its end.
    pub to: f64,
    /// Time at `from` before it rises.
    pub lead: Duration,
    /// How long it rises.
    pub lasting: Duration,
    /// The unit.
    pub unit: LoadUnit,
}

impl RampShape {
    /// A load that rises through this line.
    pub fn for_line(line: f64, objective: &Objective, unit: LoadUnit) -> Self {
        Self::between(line * AROUND.0, line * AROUND.1, objective, unit)
    }

    fn between(from: f64, to: f64, objective: &Objective, unit: LoadUnit) -> Self {
        let bound = objective.strictest().map_or(0, |bound| bound.within_us);
        let by_bound = Duration::from_micros(bound).mul_f64(RISE_BY_BOUND);
        let of_users = unit == LoadUnit::Users;
        let (from, to) = if of_users {
            let from = from.round().max(1.0);
            (from, to.round().max(from + USERS_BETWEEN_MIN))
        } else {
            (from, to)
        };
        let (shortest, lead) = if of_users {
            let arriving = Duration::from_secs_f64((from / ARRIVALS_PER_S).min(1e6));
            (RISE_OF_USERS, LEAD.saturating_add(arriving))
        } else {
            let enough = 3.0 * from / REQUESTS_IN_THREE_SECONDS;
            let longer = RISE.mul_f64((1.0 / enough).clamp(1.0, 10.0));
            (longer.min(RISE_MAX), LEAD)
        };
        Self {
            from,
            to,
            lead,
            lasting: by_bound.clamp(shortest, RISE_MAX),
            unit,
        }
    }

    /// The load; how arrivals are spread is as in `own`, the load of the plan.
    pub fn load(&self, own: &Load) -> Load {
        let phases = vec![
            LoadPhase::constant(self.from, self.lead),
            LoadPhase::ramp(self.from, self.to, self.lasting),
        ];
        let spacing = match own {
            Load::Open { spacing, .. } | Load::Sessions { spacing, .. } => *spacing,
            Load::Closed { .. } | Load::Users { .. } | Load::WebSockets(_) => Spacing::default(),
        };
        match self.unit {
            LoadUnit::RequestsPerSecond => Load::Open { phases, spacing },
            LoadUnit::SessionsPerSecond => Load::Sessions {
                phases,
                spacing,
                mixes: Vec::new(),
            },
            LoadUnit::Users => {
                let phase = |from: f64, to: f64, lasting: Duration| UserPhase {
                    from,
                    to,
                    lasting,
                    mix: Vec::new(),
                };
                let arriving = self.lead.saturating_sub(LEAD).max(Duration::from_secs(1));
                let staying = self.lead.saturating_sub(arriving);
                Load::Users {
                    phases: vec![
                        phase(0.0, self.from, arriving),
                        phase(self.from, self.from, staying),
                        phase(self.from, self.to, self.lasting),
                    ],
                    iterations: None,
                }
            }
        }
    }

    /// The whole time of the load, at most.
    pub fn whole(&self) -> Duration {
        self.lead.saturating_add(self.lasting)
    }
}

/// The rising loads of the trials of a search, one trial at a time.
#[derive(Clone, Debug)]
pub struct TrialRamps {
    default_cell: usize,
    objective: Objective,
    unit: LoadUnit,
    current: Option<RampShape>,
    /// Where the lowest load begins.
    floor: f64,
    /// Which way the trial goes on; a trial never turns round.
    further: Option<Direction>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Higher,
    Lower,
}

impl TrialRamps {
    /// Loads in a unit; `default_cell` is the cell of the settings that stand today.
    pub fn new(default_cell: usize, objective: Objective, unit: LoadUnit) -> Self {
        Self {
            default_cell,
            objective,
            unit,
            current: None,
            floor: 0.0,
            further: None,
        }
    }

    /// The first load of a trial, from the records of the trials before it.
    ///
    /// # Errors
    /// When the line of the default is not known.
    pub fn first(
        &mut self,
        trial: &PlannedTrial,
        records: &[TrialRecord],
    ) -> Result<RampShape, String> {
        let default = line_of(records, self.default_cell)
            .ok_or("the load line of the settings that stand is not known")?;
        self.floor = default * AROUND.0;
        self.further = None;
        let best = records.iter().filter_map(line_of_ramp);
        let best = best.fold(default, f64::max);
        let shape = match line_of(records, trial.cell) {
            Some(line) => RampShape::for_line(line, &self.objective, self.unit),
            None if best >= default * FAR => self.between(best * BELOW_BEST, best * AROUND.1),
            None => self.between(self.floor, best * AROUND.1),
        };
        self.current = Some(shape);
        Ok(shape)
    }

    /// The load after the load `number`, from 0: higher when that did not reach the line, lower when it began beyond it.
    /// `None` when it crossed the line, or no further load would.
    pub fn further(&mut self, finished: &Finished, number: u32) -> Option<RampShape> {
        self.after(risen(&finished.run)?.crossing, number)
    }

    pub(super) fn after(&mut self, crossing: Crossing, number: u32) -> Option<RampShape> {
        let last = self.current?;
        let next = match (crossing, self.further) {
            (Crossing::Above(_), None | Some(Direction::Higher)) if number < FURTHER_MAX => {
                self.further = Some(Direction::Higher);
                self.between(last.to, last.to * FURTHER)
            }
            (Crossing::Below(_), None) if self.floor < last.from * 0.95 => {
                self.further = Some(Direction::Lower);
                self.between(self.floor, last.from)
            }
            _ => return None,
        };
        self.current = Some(next);
        Some(next)
    }

    fn between(&self, from: f64, to: f64) -> RampShape {
        RampShape::between(from, to, &self.objective, self.unit)
    }
}

/// The line of a cell: by the last rising load that crossed it, else by a whole search.
fn line_of(records: &[TrialRecord], cell: usize) -> Option<f64> {
    let of_cell = || {
        let records = records.iter().rev();
        records.filter(move |record| record.trial.cell == cell)
    };
    of_cell()
        .find_map(line_of_ramp)
        .or_else(|| of_cell().find_map(line_of_search))
}

fn line_of_ramp(record: &TrialRecord) -> Option<f64> {
    if record.trial.role == TrialRole::Limit {
        return None;
    }
    match &record.outcome {
        RecordedOutcome::Measured(metrics) => lines::line(metrics),
        RecordedOutcome::Failed(_) | RecordedOutcome::Void(_) => None,
    }
}

/// The line that a whole search found.
pub(super) fn line_of_search(record: &TrialRecord) -> Option<f64> {
    let RecordedOutcome::Measured(metrics) = &record.outcome else {
        return None;
    };
    let line = metrics.get(LOAD_LINE).copied();
    line.filter(|line| record.trial.role == TrialRole::Limit && *line > 0.0)
}

#[cfg(test)]
mod tests;
