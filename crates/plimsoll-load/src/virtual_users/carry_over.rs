//! Users of one loop who are saved between two loads.

use std::collections::BTreeMap;

use super::user::User;
use crate::clock::SECOND_NS;

/// Longest absence of a user, ns: unused sessions expire at some point, and a user absent for longer is replaced by a
/// new one, with a login.
const ABSENCE_MAX_NS: u64 = 300 * SECOND_NS;

/// Saved users of one loop, by place.
#[derive(Debug, Default)]
pub(crate) struct LoopCarryOver {
    users: BTreeMap<u64, CarriedUser>,
}

/// A saved user.
#[derive(Debug)]
pub(super) struct CarriedUser {
    pub(super) user: User,
    /// When it was saved, ns of run time.
    since: u64,
    /// The rest of its pause; `None` when it was waiting for a response.
    pub(super) pause_ns: Option<u64>,
}

impl CarriedUser {
    /// Saves a user at a moment, without connections.
    pub(super) fn new(mut user: User, since: u64, pause_ns: Option<u64>) -> Self {
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
    /// Places of the users, ascending; each with whether a response was pending at the end.
    pub(crate) fn places(&self) -> impl Iterator<Item = (u64, bool)> {
        let users = self.users.iter();
        users.map(|(&place, carried)| (place, carried.pause_ns.is_none()))
    }

    pub(super) fn put(&mut self, carried: CarriedUser) {
        self.users.insert(carried.user.place, carried);
    }

    /// Takes out the users for wanted places. `journey` returns the journey wanted at a place, if any. Users with
    /// another journey, or absent for too long, are dropped.
    pub(super) fn restore(
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
    pub(super) fn users(&self) -> impl Iterator<Item = &User> {
        self.users.values().map(|carried| &carried.user)
    }
}
