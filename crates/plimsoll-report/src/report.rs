//! What every form of a report is made from.

use plimsoll_analysis::summary::Summary;
use plimsoll_model::run::Run;

/// A run with the numbers made from it once.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its numbers.
    pub summary: Summary,
}

impl<'a> Report<'a> {
    /// Makes the numbers of `run`.
    pub fn of(run: &'a Run) -> Self {
        Self {
            run,
            summary: Summary::of(run),
        }
    }

    /// Whether the run is a search for the load line.
    pub fn is_search(&self) -> bool {
        self.run.header.command == "limit"
    }

    /// The objective as people write it.
    pub fn objective(&self) -> Option<String> {
        let objective = self.run.header.plan.objective.as_ref();
        objective.map(ToString::to_string)
    }

    /// The load line with everything it rests on, as science demands it; `None` without a line.
    pub fn statement(&self) -> Option<String> {
        let line = self.run.search.as_ref()?.line.as_ref().ok()?;
        let objective = self.run.header.plan.objective.as_ref()?;
        Some(plimsoll_analysis::search::statement(line, objective))
    }
}
