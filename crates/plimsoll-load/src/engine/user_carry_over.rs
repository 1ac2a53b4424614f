//! Session carry-over: users who resume from the previous load, and users who are saved for the next.

use std::collections::HashSet;

use plimsoll_model::seed::Seed;

use super::Engine;
use crate::virtual_users::LoopCarryOver;

/// How users resume.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Returns {
    /// Time from the start over which new users arrive.
    pub(crate) within_ns: u64,
    /// Seed of the choice of journeys.
    pub(crate) seed: Seed,
}

/// Shortest time over which users who were waiting for a response resume: they must not arrive in one burst.
const SPREAD_MIN_NS: u64 = 1_000_000_000;

impl Engine {
    /// Resumes the wanted users: a thinking user finishes the think time; a waiting user continues at a random moment
    /// within the time in which new users arrive.
    pub(super) fn restore_users(&mut self, start_ns: u64) {
        let Some(Returns { within_ns, .. }) = self.returns else {
            return;
        };
        let (Some(people), Some(virtual_users)) =
            (self.scheduler.people(), &mut self.virtual_users)
        else {
            return;
        };
        let back =
            virtual_users.restore(start_ns, |place| people.journey_at_start(place, start_ns));
        let mut taken = HashSet::with_capacity(back.len());
        for (id, pause_ns) in back {
            taken.insert(virtual_users.place_of(id));
            let pause_ns = pause_ns
                .unwrap_or_else(|| virtual_users.draw_pause(id, within_ns.max(SPREAD_MIN_NS)));
            people.think(id, start_ns.saturating_add(pause_ns));
        }
        people.expect(
            start_ns,
            within_ns,
            &taken,
            virtual_users.numbers().collect(),
        );
        self.recorder.set_users(virtual_users.len());
    }

    /// Saves the users who may resume in another load, at the end of this one.
    pub(super) fn suspend_users(&mut self, end_ns: u64) -> LoopCarryOver {
        let (Some(people), Some(virtual_users)) =
            (self.scheduler.people(), &mut self.virtual_users)
        else {
            return LoopCarryOver::default();
        };
        if self.returns.is_none() {
            return LoopCarryOver::default();
        }
        virtual_users.suspend(end_ns, &people.pauses(end_ns))
    }

    /// A user's request has failed. A response that is not the target's own failure may mean that the session expired:
    /// a redirect to the login, a 403, a page without the expected content.
    pub(super) fn doubt(&mut self, user: u32, status: u16) {
        if (1..500).contains(&status) {
            self.virtual_users().set_in_doubt(user, true);
        }
    }
}
