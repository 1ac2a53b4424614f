//! Arrivals: taken from the schedule when they are due.

use plimsoll_model::outcome::Outcome;

use super::{ARRIVALS_MAX, Engine};
use crate::due::ScheduledArrival;
use crate::requests::Request;

impl Engine {
    /// Handles arrivals due at `now`. Returns whether more may be due at once.
    pub(super) fn take_up(&mut self, now: u64) -> bool {
        let release = self.prepared.timing().last_tick(now);
        let mut now = now;
        for _ in 0..ARRIVALS_MAX {
            let Some(due) = self.scheduler.pop(release) else {
                let next_due = self.scheduler.next_due().min(self.next_message());
                self.recorder.settle(next_due);
                return false;
            };
            self.arrive(due, now);
            // Each send takes some microseconds, which count towards the lag of the next.
            now = self.clock.now();
        }
        true
    }

    /// One request is due.
    #[inline]
    pub(super) fn arrive(&mut self, due: ScheduledArrival, now: u64) {
        if self.virtual_users.is_some() {
            return self.run_user(due, now);
        }
        self.recorder.offered(due.at, now);
        if self.prepared.timing().expiry_of(due.at) <= now {
            // A generator this far behind drops the request instead of sending it late.
            self.recorder.drop_at_once(due.at, now);
            self.handshake_failed(Outcome::Dropped);
            return self.scheduler.user_is_done(due.user, now, true);
        }
        let path = self.paths.next();
        let id = self.requests.insert(Request::new(due.at, due.user, path));
        self.dispatch(id, now);
    }

    /// A user who was waiting for the response that just ended sends again.
    #[inline]
    pub(super) fn arrive_ready(&mut self, now: u64) {
        if let Some(due) = self.scheduler.pop_ready() {
            self.arrive(due, now);
        }
    }
}
