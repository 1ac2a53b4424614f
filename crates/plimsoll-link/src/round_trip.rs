//! The round trip of a connection at a moment.

use plimsoll_model::distribution::DurationDistribution;
use plimsoll_model::seed::Seed;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::direction::Direction;

/// Longest round trip, ns: a draw beyond it is cut.
const ROUND_TRIP_NS_MAX: u64 = 60_000_000_000;

/// The round trip of a connection. It is drawn anew for each exchange, so that a request and its response take one draw
/// together; and at most once in a round trip for what goes on in one direction.
#[derive(Clone, Debug)]
pub(crate) struct RoundTrip {
    distribution: DurationDistribution,
    random: Xoshiro256PlusPlus,
    current_ns: u64,
    drawn_at_ns: u64,
    last: Direction,
}

impl RoundTrip {
    /// The round trip of the handshake that begins now.
    pub(crate) fn new(distribution: DurationDistribution, seed: Seed, now_ns: u64) -> Self {
        let mut round_trip = Self {
            distribution,
            random: seed.generator(),
            current_ns: 0,
            drawn_at_ns: now_ns,
            // The last segment that a client waits for is the answer to its first.
            last: Direction::FromTarget,
        };
        round_trip.draw(now_ns);
        round_trip
    }

    /// The round trip now, ns.
    pub(crate) fn current_ns(&self) -> u64 {
        self.current_ns
    }

    /// How long a segment is on its way that begins now, ns.
    pub(crate) fn one_way_ns(&mut self, direction: Direction, now_ns: u64) -> u64 {
        let is_request = self.last != direction && direction == Direction::ToTarget;
        let goes_on =
            self.last == direction && now_ns.saturating_sub(self.drawn_at_ns) > self.current_ns;
        if is_request || goes_on {
            self.draw(now_ns);
        }
        self.last = direction;
        self.half_ns(direction)
    }

    /// Half of the current round trip, ns; both halves together are all of it.
    pub(crate) fn half_ns(&self, direction: Direction) -> u64 {
        match direction {
            Direction::ToTarget => self.current_ns / 2,
            Direction::FromTarget => self.current_ns.div_ceil(2),
        }
    }

    fn draw(&mut self, now_ns: u64) {
        let drawn = self.distribution.draw_ns(&mut self.random);
        self.current_ns = drawn.min(ROUND_TRIP_NS_MAX);
        self.drawn_at_ns = now_ns;
    }
}
