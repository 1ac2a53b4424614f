//! What links have carried.

use std::net::SocketAddr;
use std::time::Duration;

use plimsoll_model::histogram::Histogram;

use crate::direction::Direction;
use crate::schedule::Entered;

/// What all links of a relay have carried.
#[derive(Clone, Debug, PartialEq)]
pub struct RelayTotals {
    /// Each link, in the order given.
    pub links: Vec<LinkTotals>,
    /// How long.
    pub lasting: Duration,
    /// Most bytes on their way at once, over all connections.
    pub held_max: u64,
    /// Connections that had to wait until another one ended.
    pub waited: u64,
}

/// What a link has carried.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkTotals {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where it leads.
    pub to: SocketAddr,
    /// Connections that were accepted.
    pub connections: u64,
    /// Of them open at the end.
    pub open: u64,
    /// Of them not accepted by the target.
    pub unreachable: u64,
    /// Why the last of these was not accepted.
    pub unreachable_reason: Option<String>,
    /// Of them reset by one of their ends.
    pub reset: u64,
    /// Bytes to the target.
    pub to_target: DirectionTotals,
    /// Bytes from the target.
    pub from_target: DirectionTotals,
}

/// What went in one direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DirectionTotals {
    /// Bytes that were handed to the receiver.
    pub len: u64,
    /// Segments that entered.
    pub segments: u64,
    /// Of them stalled.
    pub stalls: u64,
    /// How late bytes were taken from the link after they were due, µs: its own error, which the delay includes.
    pub late_us: Histogram,
}

impl LinkTotals {
    pub(crate) fn new(listen: SocketAddr, to: SocketAddr) -> Self {
        Self {
            listen,
            to,
            connections: 0,
            open: 0,
            unreachable: 0,
            unreachable_reason: None,
            reset: 0,
            to_target: DirectionTotals::default(),
            from_target: DirectionTotals::default(),
        }
    }

    pub(crate) fn of(&mut self, direction: Direction) -> &mut DirectionTotals {
        match direction {
            Direction::ToTarget => &mut self.to_target,
            Direction::FromTarget => &mut self.from_target,
        }
    }
}

impl DirectionTotals {
    pub(crate) fn enter(&mut self, entered: Entered) {
        self.segments += entered.segments;
        self.stalls += entered.stalls;
    }

    pub(crate) fn arrive(&mut self, late_ns: u64) {
        self.late_us.record(late_ns / 1_000, 1);
    }
}
