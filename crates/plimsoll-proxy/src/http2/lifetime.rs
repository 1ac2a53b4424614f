//! Lifetime of an HTTP/2 connection. Pure.
//!
//! The end is announced (GOAWAY) when the connection has been idle or the edge drains; open streams then continue. A
//! client that still opens streams afterwards, or reads none of the written bytes, is disconnected: neither may hold a
//! connection forever, whatever streams are open on it.

use plimsoll_net::clock::Nanoseconds;

/// Grace period for streams that were in flight when the end was announced.
const GRACE_NS: Nanoseconds = 2_000_000_000;

/// Observed state of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed {
    pub(super) now: Nanoseconds,
    pub(super) has_streams: bool,
    /// Since when the client has read nothing of the written bytes.
    pub(super) blocked_since: Option<Nanoseconds>,
    pub(super) is_draining: bool,
    /// Time-outs.
    pub(super) idle: Nanoseconds,
    pub(super) write: Nanoseconds,
}

/// What to do with the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LifetimeAction {
    Stay,
    /// Announce the end.
    Announce,
    /// Close at once.
    CutOff,
}

/// Lifetime state of one connection.
#[derive(Debug)]
pub(super) struct ConnectionLifetime {
    /// The last time at which it had a stream.
    busy: Nanoseconds,
    announced: Option<Nanoseconds>,
}

impl ConnectionLifetime {
    pub(super) fn new(now: Nanoseconds) -> Self {
        Self {
            busy: now,
            announced: None,
        }
    }

    /// Whether a stream may still be opened.
    pub(super) fn allows_stream(&mut self, now: Nanoseconds) -> bool {
        self.busy = now;
        self.announced
            .is_none_or(|announced| now.saturating_sub(announced) <= GRACE_NS)
    }

    pub(super) fn evaluate(&mut self, observed: &Observed) -> LifetimeAction {
        let now = observed.now;
        if observed.has_streams {
            self.busy = now;
        }
        let since = |moment: Nanoseconds| now.saturating_sub(moment);
        if observed
            .blocked_since
            .is_some_and(|blocked| since(blocked) >= observed.write)
        {
            return LifetimeAction::CutOff;
        }
        match self.announced {
            None if observed.is_draining || since(self.busy) >= observed.idle => {
                self.announced = Some(now);
                LifetimeAction::Announce
            }
            Some(announced) if since(self.busy.max(announced)) >= observed.write => {
                LifetimeAction::CutOff
            }
            _ => LifetimeAction::Stay,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Observed = Observed {
        now: 0,
        has_streams: false,
        blocked_since: None,
        is_draining: false,
        idle: 60,
        write: 30,
    };

    #[test]
    fn an_idle_connection_ends_in_two_steps() {
        let mut lifetime = ConnectionLifetime::new(0);
        let mut at = |now, has_streams| {
            lifetime.evaluate(&Observed {
                now,
                has_streams,
                ..QUIET
            })
        };
        assert_eq!(at(50, true), LifetimeAction::Stay);
        assert_eq!(at(109, false), LifetimeAction::Stay);
        assert_eq!(at(110, false), LifetimeAction::Announce);
        assert_eq!(at(139, false), LifetimeAction::Stay);
        assert_eq!(at(140, false), LifetimeAction::CutOff);
    }

    #[test]
    fn whoever_takes_nothing_is_cut_off_with_all_streams() {
        let mut lifetime = ConnectionLifetime::new(0);
        let mut at = |now| {
            lifetime.evaluate(&Observed {
                now,
                has_streams: true,
                blocked_since: Some(5),
                ..QUIET
            })
        };
        assert_eq!(at(34), LifetimeAction::Stay);
        assert_eq!(at(35), LifetimeAction::CutOff);
    }

    #[test]
    fn streams_after_the_end_was_announced_have_a_moment_to_come() {
        let mut lifetime = ConnectionLifetime::new(0);
        assert!(lifetime.allows_stream(1));
        let drained = Observed {
            now: 2,
            has_streams: true,
            is_draining: true,
            ..QUIET
        };
        assert_eq!(lifetime.evaluate(&drained), LifetimeAction::Announce);
        assert!(lifetime.allows_stream(2 + GRACE_NS));
        assert!(!lifetime.allows_stream(3 + GRACE_NS));
        // An open stream continues as long as it takes.
        let later = Observed {
            now: 1000 * GRACE_NS,
            ..drained
        };
        assert_eq!(lifetime.evaluate(&later), LifetimeAction::Stay);
    }
}
