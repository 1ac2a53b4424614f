//! Health of a server, by active checks and by its responses. Pure.

use plimsoll_config::edge::{Check, Eject};
use plimsoll_net::clock::{Nanoseconds, nanoseconds};

/// Whether a server gets requests, and if not, why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServerState {
    /// It gets requests.
    #[default]
    In,
    /// It fails its active checks.
    FailsChecks,
    /// Failed responses ejected it for a while.
    Ejected,
    /// It drains, as configured or commanded.
    Drained,
}

/// Health state of one server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Health {
    /// Result of the active checks.
    passes: bool,
    /// Consecutive results that contradict the current state.
    against: u32,
    /// Consecutive failed responses.
    failures: u32,
    /// Ejections without a good response in between.
    ejections: u32,
    /// Ejected until then.
    ejected_until: Nanoseconds,
    /// When it came back.
    back_since: Option<Nanoseconds>,
    /// Draining: it receives no new requests.
    drained: bool,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            passes: true,
            against: 0,
            failures: 0,
            ejections: 0,
            ejected_until: 0,
            back_since: None,
            drained: false,
        }
    }
}

impl Health {
    /// Until when it is out; forever while checks fail or it drains.
    pub(crate) fn out_until(&self) -> Nanoseconds {
        if self.passes && !self.drained {
            self.ejected_until
        } else {
            Nanoseconds::MAX
        }
    }

    /// Why it is out, if it is.
    pub(crate) fn state(&self) -> ServerState {
        if self.drained {
            ServerState::Drained
        } else if self.passes {
            ServerState::Ejected
        } else {
            ServerState::FailsChecks
        }
    }

    /// Starts or ends draining.
    pub(crate) fn drain(&mut self, drained: bool) {
        self.drained = drained;
    }

    /// When it came back, if it was ever out.
    pub(crate) fn back_since(&self) -> Option<Nanoseconds> {
        self.back_since
            .max((self.ejected_until > 0).then_some(self.ejected_until))
    }

    /// Records the result of an active check; whether the state changed.
    pub(crate) fn checked(&mut self, now: Nanoseconds, good: bool, check: &Check) -> bool {
        if good == self.passes {
            self.against = 0;
            return false;
        }
        self.against += 1;
        let needed = if good { check.rise } else { check.fall };
        if self.against < needed {
            return false;
        }
        self.passes = good;
        self.against = 0;
        if good {
            self.back_since = Some(now);
            self.failures = 0;
        }
        true
    }

    /// Records the outcome of a response; whether the server is to be ejected, which [`Health::eject`] does.
    pub(crate) fn answered(&mut self, good: bool, eject: &Eject) -> bool {
        if good {
            self.failures = 0;
            self.ejections = 0;
            return false;
        }
        self.failures = self.failures.saturating_add(1);
        eject.failures > 0 && self.failures >= eject.failures
    }

    /// Ejects it, each time for longer.
    pub(crate) fn eject(&mut self, now: Nanoseconds, eject: &Eject) {
        self.failures = 0;
        self.ejections = (self.ejections + 1).min(10);
        let lasting = nanoseconds(eject.lasting).saturating_mul(u64::from(self.ejections));
        self.ejected_until = now.saturating_add(lasting);
    }
}

/// Whether one more of `count` servers may be ejected when `out` are out already.
pub(crate) fn may_eject(out: usize, count: usize, eject: &Eject) -> bool {
    (out + 1) as f64 <= count as f64 * eject.share_max
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn checks_take_out_and_bring_back() {
        let check = Check {
            path: None,
            every: Duration::from_secs(1),
            timeout: Duration::from_secs(1),
            fall: 3,
            rise: 2,
        };
        let mut health = Health::default();
        let results = [
            false, false, true, false, false, false, true, false, true, true,
        ];
        let changes: Vec<bool> = results
            .iter()
            .zip(0..)
            .map(|(&good, now)| health.checked(now, good, &check))
            .collect();
        let flips: Vec<usize> = (0..10).filter(|&at| changes[at]).collect();
        assert_eq!(flips, [5, 9]);
        assert!(health.out_until() <= 9);
        assert_eq!(health.back_since(), Some(9));
    }

    #[test]
    fn failures_in_a_row_eject_for_longer_each_time() {
        let eject = Eject {
            failures: 3,
            lasting: Duration::from_nanos(10),
            share_max: 0.5,
        };
        let mut health = Health::default();
        let fails = |health: &mut Health, goods: &[bool]| {
            goods.iter().any(|&good| health.answered(good, &eject))
        };
        assert!(!fails(&mut health, &[false, false, true, false, false]));
        assert!(fails(&mut health, &[false]));
        health.eject(100, &eject);
        assert!(health.out_until() == 110);
        assert!(fails(&mut health, &[false; 3]));
        health.eject(110, &eject);
        assert!(health.out_until() == 130);
        assert!(!fails(&mut health, &[true]));
        health.eject(200, &eject);
        assert!(health.out_until() == 210);
    }

    #[test]
    fn half_of_the_servers_stay() {
        let eject = Eject::default();
        assert!(!may_eject(0, 1, &eject));
        assert!(may_eject(0, 2, &eject));
        assert!(!may_eject(1, 3, &eject));
        assert!(may_eject(1, 4, &eject));
    }
}
