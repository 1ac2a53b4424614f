//! Arrivals: taken from the schedule when they are due.

use plimsoll_model::outcome::Outcome;

use super::{ARRIVALS_MAX, Engine};
use crate::due::ScheduledArrival;
use crate::requests::Request;

impl Engine {
    /// Handles arrivals due at `now`. Returns whether more may be due at once.
    pub(super) fn take_up(&mut self, now: u64) -> bool {
        let release = self.prepared.timing().last_tick(now);
        let release = self.recorder.taken_up_to(release);
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;
    use std::time::Duration;

    use plimsoll_model::plan::Load;
    use plimsoll_model::seed::Seed;

    use crate::clock::SECOND_NS;
    use crate::recorder::Recorder;
    use crate::scheduler::Scheduler;

    #[test]
    fn an_arrival_at_the_turn_of_a_second_counts_in_the_later_one() {
        let load = Load::Closed {
            connections: 3,
            think: Duration::from_secs(3),
            lasting: Duration::from_secs(3),
        };
        let mut scheduler = Scheduler::new(&load, Seed(1), 0, (0, 1), 1);
        let (seconds, closed) = sync_channel(8);
        let (_spares, spare) = sync_channel(8);
        let mut recorder = Recorder::new(0, 1_000_000, true, seconds, spare);
        for turn in [0, SECOND_NS, 2 * SECOND_NS] {
            // The turn comes after the loop has closed seconds, and before it takes up arrivals.
            for (closing, now) in [(turn.saturating_sub(1), turn), (turn + 1, turn + 2)] {
                recorder.roll(closing);
                while let Some(due) = scheduler.pop(recorder.taken_up_to(now)) {
                    recorder.offered(due.at, now);
                }
            }
        }
        recorder.finish(3 * SECOND_NS);
        let offered: Vec<_> = closed
            .iter()
            .map(|mut second| second.close().offered)
            .collect();
        assert_eq!(offered, [1, 1, 1]);
    }
}
