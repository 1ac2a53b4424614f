//! Session carry-over: users who continue from one load to the next, between the trials of a search.
//!
//! Users keep their identity, their values, and their place in the journey; only their connections end. Pending
//! requests are drained before they are saved, so no queue is carried over.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_model::seed::Seed;

use crate::clock::SECOND_NS;
use crate::user::User;

/// Longest absence of a user, ns: unused sessions expire at some point, and a user absent for longer is replaced by a
/// new one, with a login.
const ABSENCE_MAX_NS: u64 = 300 * SECOND_NS;

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
    pub(crate) loops: Vec<LoopCarryOver>,
}

impl SessionCarryOver {
    /// Places of users who may resume, ascending; each with whether a response was pending at the end.
    pub fn places(&self) -> Vec<(u64, bool)> {
        let users = self.loops.iter().flat_map(|carry_over| &carry_over.users);
        let mut places: Vec<(u64, bool)> = users
            .map(|(&place, carried)| (place, carried.pause_ns.is_none()))
            .collect();
        places.sort_unstable();
        places
    }
}

/// Saved users of one loop, by place.
#[derive(Debug, Default)]
pub(crate) struct LoopCarryOver {
    users: BTreeMap<u64, CarriedUser>,
}

/// A saved user.
#[derive(Debug)]
pub(crate) struct CarriedUser {
    pub(crate) user: User,
    /// When it was saved, ns of run time.
    since: u64,
    /// The rest of its pause; `None` when it was waiting for a response.
    pub(crate) pause_ns: Option<u64>,
}

impl CarriedUser {
    /// Saves a user at a moment, without connections.
    pub(crate) fn new(mut user: User, since: u64, pause_ns: Option<u64>) -> Self {
        user.lines.clear();
        user.page = None;
        Self {
            user,
            since,
            pause_ns,
        }
    }

    /// Whether the target probably still knows its session.
    fn is_remembered(&self, now: u64) -> bool {
        now.saturating_sub(self.since) <= ABSENCE_MAX_NS
            && !self.user.jar.has_expired(self.since, now)
    }
}

impl LoopCarryOver {
    pub(crate) fn put(&mut self, carried: CarriedUser) {
        self.users.insert(carried.user.place, carried);
    }

    /// Takes out the users for wanted places. `journey` returns the journey wanted at a place, if any. Users with
    /// another journey, or absent for too long, are dropped.
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

    /// The users who remain saved.
    pub(crate) fn users(&self) -> impl Iterator<Item = &User> {
        self.users.values().map(|carried| &carried.user)
    }
}
