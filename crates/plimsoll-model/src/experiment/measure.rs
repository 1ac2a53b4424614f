//! What a trial of a cell measures.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::design::Cell;
use super::per_cell::{LevelText, PerCell};
use crate::objective::Objective;

/// The measurement of each trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// Where requests come from.
    pub target: MeasureTarget,
    /// What is measured.
    pub measurement: Measurement,
    /// The objective; `None` for that of the plan, or the default of a search.
    pub objective: Option<Objective>,
}

/// Where the requests of a trial come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MeasureTarget {
    /// A plan file.
    Plan(LevelText),
    /// A URL.
    Url(LevelText),
}

/// What is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measurement {
    /// The load that the plan names.
    PlanLoad,
    /// The highest load that meets the objective.
    Limit(SearchEffort),
    /// Fixed loads, one after the other.
    Loads {
        /// The loads; one that has no value in a cell is left out there.
        loads: Vec<PerCell<FixedLoad>>,
        /// Duration of each.
        each: Duration,
    },
}

/// Time budget of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchEffort {
    /// At most 4 minutes.
    Quick,
    /// At most 15 minutes.
    Standard,
    /// At most an hour.
    Thorough,
    /// Quicker than quick, within this time.
    Within(Duration),
}

impl SearchEffort {
    /// The longest time that it takes.
    pub const fn longest(self) -> Duration {
        match self {
            Self::Quick => Duration::from_mins(4),
            Self::Standard => Duration::from_mins(15),
            Self::Thorough => Duration::from_hours(1),
            Self::Within(budget) => budget,
        }
    }
}

/// A fixed load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FixedLoad {
    /// Arrivals per second: of users where the plan has journeys, else of requests.
    PerSecond(f64),
    /// Concurrent users.
    Users(u32),
}

impl Measure {
    /// How long a trial of a cell measures at most, where the plan's own load lasts `plan_load`.
    pub fn lasting(&self, cell: &Cell, plan_load: Duration) -> Duration {
        match &self.measurement {
            Measurement::PlanLoad => plan_load,
            Measurement::Limit(effort) => effort.longest(),
            Measurement::Loads { loads, each } => {
                let count = loads.iter().filter(|load| load.at(cell).is_some()).count();
                each.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_loads_follow_each_other() {
        let cell = |level| Cell::new(vec![Some(level)]);
        let loads = vec![
            PerCell::Every(FixedLoad::PerSecond(5.0)),
            PerCell::by_axes(vec![0], [(cell(1), FixedLoad::Users(3))]),
        ];
        let each = Duration::from_secs(10);
        let measure = Measure {
            target: MeasureTarget::Plan(LevelText::default()),
            measurement: Measurement::Loads { loads, each },
            objective: None,
        };
        let lasting = [0, 1].map(|level| measure.lasting(&cell(level), Duration::ZERO));
        assert_eq!(lasting, [10, 20].map(Duration::from_secs));
    }
}
