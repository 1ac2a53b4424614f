//! Users who stay from one load to the next: between the trials of a search.
//!
//! They keep who they are, what they hold, and the place in their journey; only their connections end. What a target
//! had not answered yet is drained before they leave, so no queue comes along with them.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_model::seed::Seed;

use crate::clock::SECOND_NS;
use crate::user::User;

/// How long somebody may be away, ns: sessions that nobody uses end sooner or later, and whoever stays away for longer
/// comes as somebody new, with a login.
const ABSENCE_MAX_NS: u64 = 300 * SECOND_NS;

/// Who may come back to a load of users, and how the others come.
#[derive(Debug)]
pub struct Stay {
    /// Users of the load before; none at first.
    pub carry_over: SessionCarryOver,
    /// Time from the start in which newcomers come, one after the other. Who was kept waiting for an answer when the last
    /// load ended comes back at any moment of it.
    pub within: Duration,
    /// Seed of the choice of journeys: the same for all loads, or nobody would find the place that was left.
    pub seed: Seed,
}

/// Users between two loads.
#[derive(Debug, Default)]
pub struct SessionCarryOver {
    pub(crate) loops: Vec<LoopCarryOver>,
}

impl SessionCarryOver {
    /// Places of those who may come back, ascending; each with whether an answer was being waited for at the end.
    pub fn places(&self) -> Vec<(u64, bool)> {
        let users = self.loops.iter().flat_map(|carry_over| &carry_over.users);
        let mut places: Vec<(u64, bool)> = users
            .map(|(&place, carried)| (place, carried.pause_ns.is_none()))
            .collect();
        places.sort_unstable();
        places
    }
}

/// Users of one loop who are away, by place.
#[derive(Debug, Default)]
pub(crate) struct LoopCarryOver {
    users: BTreeMap<u64, CarriedUser>,
}

/// Somebody who is away.
#[derive(Debug)]
pub(crate) struct CarriedUser {
    pub(crate) user: User,
    /// When it went away, ns of run time.
    since: u64,
    /// What was left of its pause; `None` when it was waiting for an answer.
    pub(crate) pause_ns: Option<u64>,
}

impl CarriedUser {
    /// Somebody who goes away at a moment, without connections.
    pub(crate) fn new(mut user: User, since: u64, pause_ns: Option<u64>) -> Self {
        user.lines.clear();
        user.page = None;
        Self {
            user,
            since,
            pause_ns,
        }
    }

    /// Whether it is still known to the target, as far as can be told from here.
    fn is_remembered(&self, now: u64) -> bool {
        now.saturating_sub(self.since) <= ABSENCE_MAX_NS
            && !self.user.jar.has_expired(self.since, now)
    }
}

impl LoopCarryOver {
    pub(crate) fn put(&mut self, carried: CarriedUser) {
        self.users.insert(carried.user.place, carried);
    }

    /// Takes out those who come back to places that are wanted. `journey` says who is wanted at a place, if anybody.
    /// Whoever is another kind of person by now, or away for too long, is forgotten.
    pub(crate) fn restore(
        &mut self,
        now: u64,
        mut journey: impl FnMut(u64) -> Option<u32>,
    ) -> Vec<CarriedUser> {
        let mut back = Vec::new();
        for (place, carried) in std::mem::take(&mut self.users) {
            if !carried.is_remembered(now) {
                continue;
            }
            match journey(place) {
                Some(wanted) if wanted == carried.user.journey => back.push(carried),
                Some(_) => {}
                None => self.put(carried),
            }
        }
        back
    }

    /// Those who stay away.
    pub(crate) fn users(&self) -> impl Iterator<Item = &User> {
        self.users.values().map(|carried| &carried.user)
    }
}
