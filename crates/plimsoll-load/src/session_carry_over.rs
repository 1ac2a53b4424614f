//! Session carry-over: users who continue from one load to the next, between the trials of a search.
//!
//! Users keep their identity, their values, and their place in the journey; only their connections end. Pending
//! requests are drained before they are saved, so no queue is carried over.

use std::time::Duration;

use plimsoll_model::seed::Seed;

use crate::virtual_users::LoopCarryOver;

/// Which users may resume in a load, and how new users arrive.
#[derive(Debug)]
pub struct Stay {
    /// Users of the previous load; none at first.
    pub carry_over: SessionCarryOver,
    /// Time from the start over which new users arrive, one after the other. Users who were waiting for a response when
    /// the last load ended resume at random moments within it.
    pub within: Duration,
    /// Seed of the choice of journeys: the same for all loads, so that places keep their journeys.
    pub seed: Seed,
}

/// Users between two loads.
#[derive(Debug, Default)]
pub struct SessionCarryOver {
    /// One for each loop of the previous load.
    loops: Vec<LoopCarryOver>,
}

impl FromIterator<LoopCarryOver> for SessionCarryOver {
    fn from_iter<Loops: IntoIterator<Item = LoopCarryOver>>(loops: Loops) -> Self {
        Self {
            loops: loops.into_iter().collect(),
        }
    }
}

impl SessionCarryOver {
    /// One for each of so many loops of this process. Places are split over loops: they do not match another number of
    /// loops, which starts without users.
    pub(crate) fn into_loops(mut self, count: usize) -> Vec<LoopCarryOver> {
        if self.loops.len() != count {
            self.loops.clear();
            self.loops.resize_with(count, LoopCarryOver::default);
        }
        self.loops
    }

    /// Places of users who may resume, ascending; each with whether a response was pending at the end.
    pub fn places(&self) -> Vec<(u64, bool)> {
        let loops = self.loops.iter();
        let mut places: Vec<(u64, bool)> = loops.flat_map(LoopCarryOver::places).collect();
        places.sort_unstable();
        places
    }
}
