//! How a load rises through the load line of a setting, sized by what is known of it.
//!
//! A trial of a search for settings is a load that rises from a little below the line to well beyond it. Where the line of a
//! setting is not known, the load begins below that of the default, and climbs quickly to where the best settings are; a load
//! that does not reach the line is followed by a higher one. None begins far beyond the line: what a service has queued there
//! would still be there for the next load.

use std::iter;
use std::time::Duration;

use plimsoll_analysis::experiment::metrics::ramp::{Crossing, risen};
use plimsoll_analysis::experiment::metrics::{LOAD_LINE, MetricValues};
use plimsoll_analysis::stats::order::median;
use plimsoll_model::journey::UserPhase;
use plimsoll_model::objective::Objective;
use plimsoll_model::plan::{Load, LoadUnit};
use plimsoll_model::schedule::{LoadPhase, Spacing};

use super::lines::{self, LOAD_LINE_MIN};
use crate::active_run::Finished;
use crate::experiment::trial::{PlannedTrial, RecordedOutcome, TrialRecord, TrialRole};

/// Begin and end of a load whose line is known, in shares of the line.
const AROUND: (f64, f64) = (0.7, 1.5);
/// End of the climb of a load of a setting whose line is not known, in shares of the best line, where that is far above the
/// default's.
const BELOW_BEST: f64 = 0.5;
/// How many times the default's line the best must be for that.
const FAR: f64 = 2.0;
/// Begin of a whole search, in shares of the line that loads that rise have shown.
const SEARCH_FROM: f64 = 0.75;
/// End of a further load, in shares of its begin.
const FURTHER: f64 = 2.0;
/// Further loads of a trial at most: up to twelve times the line that the first was sized by.
const FURTHER_MAX: u32 = 3;

/// Parts of a climb at most.
const CLIMBS_MAX: f64 = 30.0;
/// Time in which a load doubles that climbs to where its line may be.
const DOUBLING: Duration = Duration::from_secs(4);
/// The same of users.
const DOUBLING_OF_USERS: Duration = Duration::from_secs(15);
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
/// Users that arrive in a second at most while a load climbs.
const ARRIVALS_PER_S: f64 = 50.0;
/// The same before it rises. All who come have to log in, which takes more of a service than what they do later: on the tutor
/// 470 users in ten seconds failed at a setting that carried 600 who came slowly.
const ARRIVALS_AT_BEGIN_PER_S: f64 = 15.0;
/// Longest time of these arrivals, s: of more users more arrive in a second.
const ARRIVING_MAX_S: f64 = 60.0;
/// Fewest users between begin and end.
const USERS_BETWEEN_MIN: f64 = 2.0;

/// The longest time of all loads of a trial.
pub(super) const LONGEST: Duration = Duration::from_mins(15);

/// A load that rises through the load line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RampShape {
    /// Load at its begin, in the unit of the search.
    pub begin: f64,
    /// Load up to which it climbs quickly; `begin` where it does not.
    pub from: f64,
    /// Load at its end.
    pub to: f64,
    /// Time at `begin` before it rises.
    pub lead: Duration,
    /// How long it climbs to `from`.
    pub climbing: Duration,
    /// How long it rises from there.
    pub lasting: Duration,
    /// The unit.
    pub unit: LoadUnit,
}

impl RampShape {
    /// A load that rises through this line.
    pub fn for_line(line: f64, objective: &Objective, unit: LoadUnit) -> Self {
        Self::between(line * AROUND.0, line * AROUND.1, objective, unit)
    }

    /// This load, with a climb to its begin from a lower one.
    #[must_use]
    fn climbing_from(self, begin: f64) -> Self {
        let of_users = self.unit == LoadUnit::Users;
        let begin = if of_users {
            begin.round().max(1.0)
        } else {
            begin
        };
        if begin >= self.from {
            return self;
        }
        let doublings = (self.from / begin).log2();
        let climbing = if of_users {
            let arriving = Duration::from_secs_f64((self.from - begin) / ARRIVALS_PER_S);
            DOUBLING_OF_USERS.mul_f64(doublings).max(arriving)
        } else {
            DOUBLING.mul_f64(doublings)
        };
        Self {
            begin,
            lead: lead(begin, self.unit),
            climbing: climbing.min(RISE_MAX),
            ..self
        }
    }

    /// The load at its begin, for as long as before it rises.
    #[must_use]
    pub fn steady(self, lasting: Duration) -> Self {
        Self {
            from: self.begin,
            to: self.begin,
            climbing: Duration::ZERO,
            lasting,
            ..self
        }
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
        let shortest = if of_users {
            RISE_OF_USERS
        } else {
            let enough = 3.0 * from / REQUESTS_IN_THREE_SECONDS;
            let longer = RISE.mul_f64((1.0 / enough).clamp(1.0, 10.0));
            longer.min(RISE_MAX)
        };
        Self {
            begin: from,
            from,
            to,
            lead: lead(from, unit),
            climbing: Duration::ZERO,
            lasting: by_bound.clamp(shortest, RISE_MAX),
            unit,
        }
    }

    /// The load; how arrivals are spread is as in `own`, the load of the plan.
    pub fn load(&self, own: &Load) -> Load {
        let spacing = match own {
            Load::Open { spacing, .. } | Load::Sessions { spacing, .. } => *spacing,
            Load::Closed { .. } | Load::Users { .. } | Load::WebSockets(_) => Spacing::default(),
        };
        let phases = || {
            let parts = iter::once((self.begin, self.begin, self.lead)).chain(self.rising());
            let phases = parts.map(|(from, to, lasting)| LoadPhase::ramp(from, to, lasting));
            phases.collect()
        };
        match self.unit {
            LoadUnit::RequestsPerSecond => Load::Open {
                phases: phases(),
                spacing,
            },
            LoadUnit::SessionsPerSecond => Load::Sessions {
                phases: phases(),
                spacing,
                mixes: Vec::new(),
            },
            LoadUnit::Users => {
                let arriving = self.lead.saturating_sub(LEAD).max(Duration::from_secs(1));
                let staying = self.lead.saturating_sub(arriving);
                let lead = [
                    (0.0, self.begin, arriving),
                    (self.begin, self.begin, staying),
                ];
                let parts = lead.into_iter().chain(self.rising());
                let phases = parts.map(|(from, to, lasting)| UserPhase {
                    from,
                    to,
                    lasting,
                    mix: Vec::new(),
                });
                Load::Users {
                    phases: phases.collect(),
                    iterations: None,
                }
            }
        }
    }

    /// Begin, end and time of the parts that rise. A climb has a part for each doubling, so that its slope is never more
    /// than a doubling's: a service that falls behind early is left with a shorter queue.
    fn rising(&self) -> Vec<(f64, f64, Duration)> {
        let mut parts = Vec::new();
        if !self.climbing.is_zero() {
            let factor = self.from / self.begin;
            let count = factor.log2().ceil().clamp(1.0, CLIMBS_MAX);
            let lasting = self.climbing.div_f64(count);
            let mut low = self.begin;
            while low * factor.powf(1.5 / count) < self.from {
                let high = low * factor.powf(1.0 / count);
                parts.push((low, high, lasting));
                low = high;
            }
            parts.push((low, self.from, lasting));
        }
        parts.push((self.from, self.to, self.lasting));
        parts
    }

    /// The whole time of the load, at most.
    pub fn whole(&self) -> Duration {
        let parts = self.rising().into_iter();
        parts.fold(self.lead, |sum, (_, _, lasting)| {
            sum.saturating_add(lasting)
        })
    }
}

/// Time at the begin of a load, before it rises.
fn lead(begin: f64, unit: LoadUnit) -> Duration {
    if unit == LoadUnit::Users {
        let arriving_s = (begin / ARRIVALS_AT_BEGIN_PER_S).min(ARRIVING_MAX_S);
        LEAD.saturating_add(Duration::from_secs_f64(arriving_s))
    } else {
        LEAD
    }
}

/// The rising loads of the trials of a search, one trial at a time.
#[derive(Clone, Debug)]
pub struct TrialRamps {
    default_cell: usize,
    objective: Objective,
    unit: LoadUnit,
    current: Option<RampShape>,
}

impl TrialRamps {
    /// Loads in a unit; `default_cell` is the cell of the settings that stand today.
    pub fn new(default_cell: usize, objective: Objective, unit: LoadUnit) -> Self {
        Self {
            default_cell,
            objective,
            unit,
            current: None,
        }
    }

    /// The unit of the loads.
    pub fn unit(&self) -> LoadUnit {
        self.unit
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
        let floor = default * AROUND.0;
        let best = records.iter().filter_map(line_of_ramp);
        let best = best.fold(default, f64::max);
        let shape = match line_of(records, trial.cell) {
            Some(line) => RampShape::for_line(line, &self.objective, self.unit),
            None if best >= default * FAR => self
                .between(best * BELOW_BEST, best * AROUND.1)
                .climbing_from(floor),
            None => self.between(floor, best * AROUND.1),
        };
        self.current = Some(shape);
        Ok(shape)
    }

    /// Where a whole search of the load line of a cell begins: so far below what loads that rise have shown of it that it passes
    /// there, and so near that the first doubling is plainly beyond the line. `None` where no load has risen.
    pub fn search_from(&self, cell: usize, records: &[TrialRecord]) -> Option<f64> {
        let of_cell = || records.iter().filter(|record| record.trial.cell == cell);
        let risen: Vec<f64> = of_cell().filter_map(line_of_ramp).collect();
        let carried = || of_cell().filter_map(least_of_ramp).reduce(f64::max);
        let line = median(&risen).or_else(carried)?;
        Some(line * SEARCH_FROM)
    }

    /// The load after the load `number`, from 0, when that did not reach the line. `None` when it did, or there is enough.
    pub fn further(&mut self, finished: &Finished, number: u32) -> Option<RampShape> {
        self.after(risen(&finished.run)?.crossing, number)
    }

    pub(super) fn after(&mut self, crossing: Crossing, number: u32) -> Option<RampShape> {
        let last = self.current?;
        let is_below = matches!(crossing, Crossing::Above(_)) && number < FURTHER_MAX;
        self.current = is_below.then(|| self.between(last.to, last.to * FURTHER));
        self.current
    }

    fn between(&self, from: f64, to: f64) -> RampShape {
        RampShape::between(from, to, &self.objective, self.unit)
    }
}

/// The line of a cell: the median of those that rising loads crossed, else that of a whole search.
fn line_of(records: &[TrialRecord], cell: usize) -> Option<f64> {
    let of_cell = || {
        records
            .iter()
            .filter(move |record| record.trial.cell == cell)
    };
    let risen: Vec<f64> = of_cell().filter_map(line_of_ramp).collect();
    median(&risen).or_else(|| of_cell().rev().find_map(line_of_search))
}

fn line_of_ramp(record: &TrialRecord) -> Option<f64> {
    lines::line(metrics_of_ramp(record)?)
}

/// What a rising load carried that did not reach the line.
fn least_of_ramp(record: &TrialRecord) -> Option<f64> {
    metrics_of_ramp(record)?.get(LOAD_LINE_MIN).copied()
}

fn metrics_of_ramp(record: &TrialRecord) -> Option<&MetricValues> {
    match &record.outcome {
        RecordedOutcome::Measured(metrics) if record.trial.role != TrialRole::Limit => {
            Some(metrics)
        }
        _ => None,
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
