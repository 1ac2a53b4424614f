//! When which bytes of a connection arrive.
//!
//! Bytes enter a connection when they were read from one end, in segments of at most [`SEGMENT_LEN`]. A segment passes the
//! bandwidth of the link, which all connections share, and is then on its way for half of a round trip. No segment
//! arrives before an earlier one of its direction: TCP hands on bytes in order, so bytes behind a stalled segment wait
//! with it. The caller hands in the time, in nanoseconds that never go back.

mod flow;
#[cfg(test)]
mod tests;

use plimsoll_model::seed::Seed;
use rand::RngExt as _;

use crate::bucket::TokenBucket;
use crate::conditions::LinkConditions;
pub use crate::conditions::SEGMENT_LEN;
use crate::direction::Direction;
use crate::round_trip::RoundTrip;
use flow::Flow;

/// Bytes that every direction of a connection may have on their way, however little memory is left for all.
pub const PIECE_LEN: u64 = 16 << 10;

/// A link: what all its connections share.
#[derive(Debug)]
pub struct LinkSchedule {
    conditions: LinkConditions,
    seed: Seed,
    buckets: Option<[TokenBucket; 2]>,
    window: u64,
    queue_ns_max: u64,
    opened: u64,
}

/// A connection of a link.
#[derive(Debug)]
pub struct ConnectionSchedule {
    round_trip: RoundTrip,
    flows: [Flow; 2],
    request_arrives_ns: u64,
}

/// How a direction of a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowEnd {
    /// With its last byte (FIN).
    Finished,
    /// By a reset (RST).
    Reset,
}

/// What entered a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entered {
    /// In so many segments.
    pub segments: u64,
    /// Of them stalled.
    pub stalls: u64,
}

/// What arrived at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Bytes.
    pub len: u64,
    /// How long ago the first of them was due, ns.
    pub late_ns: u64,
}

/// How many bytes may enter now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// So many, at least one.
    Bytes(u64),
    /// None until this moment, ns.
    Until(u64),
    /// None until some have been delivered.
    Full,
}

impl LinkSchedule {
    /// A link without connections.
    pub fn new(conditions: LinkConditions, seed: Seed) -> Self {
        let bucket = conditions.bandwidth.map(TokenBucket::new);
        Self {
            conditions,
            seed,
            buckets: bucket.map(|bucket| [bucket, bucket]),
            window: conditions.window(),
            queue_ns_max: conditions.queue_ns_max(),
            opened: 0,
        }
    }

    /// Opens a connection: a client begins its handshake now.
    ///
    /// The target receives its request for a connection after half a round trip. What the client sends enters after a
    /// whole one, when the answer is back; what the target sends after one and a half, when it has received that the
    /// client has it.
    pub fn open(&mut self, now_ns: u64) -> ConnectionSchedule {
        let seed = self.seed.derive(self.opened);
        self.opened += 1;
        let round_trip = RoundTrip::new(self.conditions.round_trip, seed.derive(0), now_ns);
        let open_ns = now_ns.saturating_add(round_trip.current_ns());
        let request_arrives_ns = now_ns.saturating_add(round_trip.half_ns(Direction::ToTarget));
        let confirmed_ns = open_ns.saturating_add(round_trip.half_ns(Direction::ToTarget));
        ConnectionSchedule {
            round_trip,
            flows: [
                Flow::new(open_ns, seed.derive(1)),
                Flow::new(confirmed_ns, seed.derive(2)),
            ],
            request_arrives_ns,
        }
    }

    /// How many bytes may enter a direction now; `spare` is how much memory is left for all connections, bytes.
    pub fn room(
        &self,
        connection: &ConnectionSchedule,
        direction: Direction,
        now_ns: u64,
        spare: u64,
    ) -> Room {
        let flow = connection.flow(direction);
        if flow.is_ended() {
            return Room::Full;
        }
        if now_ns < flow.open_ns() {
            return Room::Until(flow.open_ns());
        }
        let held = flow.held();
        let own = PIECE_LEN.saturating_sub(held).saturating_add(spare);
        let free = self.window.saturating_sub(held).min(own).min(PIECE_LEN);
        // A segment has a price beyond its bytes: without room for that, it does not enter.
        let free = free.saturating_sub(flow::SEGMENT_PRICE);
        if free == 0 {
            return Room::Full;
        }
        let backlog_ns = self
            .buckets
            .map_or(0, |buckets| buckets[direction.index()].backlog_ns(now_ns));
        if backlog_ns <= self.queue_ns_max {
            return Room::Bytes(free);
        }
        // The queue is long: each connection has one segment in it, so that they take turns.
        if flow.passed_ns() > now_ns {
            return Room::Until(flow.passed_ns());
        }
        Room::Bytes(free.min(SEGMENT_LEN))
    }

    /// Bytes enter a direction now.
    pub fn enter(
        &mut self,
        connection: &mut ConnectionSchedule,
        direction: Direction,
        now_ns: u64,
        len: u64,
    ) -> Entered {
        let one_way_ns = connection.round_trip.one_way_ns(direction, now_ns);
        let flow = &mut connection.flows[direction.index()];
        let mut entered = Entered::default();
        let mut left = len;
        while left > 0 {
            let segment = left.min(SEGMENT_LEN);
            left -= segment;
            let passed_ns = match &mut self.buckets {
                Some(buckets) => buckets[direction.index()].pass(now_ns, segment),
                None => now_ns,
            };
            let mut due_ns = passed_ns.saturating_add(one_way_ns);
            entered.segments += 1;
            if let Some(stall) = self.conditions.stall
                && flow.random().random::<f64>() < stall.share
            {
                let lasting = u64::try_from(stall.lasting.as_nanos()).unwrap_or(u64::MAX);
                due_ns = due_ns.saturating_add(lasting);
                entered.stalls += 1;
            }
            flow.add(segment, passed_ns, due_ns);
        }
        entered
    }
}

impl ConnectionSchedule {
    fn flow(&self, direction: Direction) -> &Flow {
        &self.flows[direction.index()]
    }

    /// When the request for a connection is at the target, ns.
    pub fn request_arrives_ns(&self) -> u64 {
        self.request_arrives_ns
    }

    /// When a reset is at the client that the target sends now, ns.
    pub fn refusal_arrives_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_add(self.round_trip.half_ns(Direction::FromTarget))
    }

    /// When a reset is at the end of a direction that begins now, ns.
    pub fn reset_arrives_ns(&self, direction: Direction, now_ns: u64) -> u64 {
        now_ns.saturating_add(self.round_trip.half_ns(direction))
    }

    /// A direction ends with what has entered it so far; the end travels like a segment.
    pub fn end(&mut self, direction: Direction, now_ns: u64, end: FlowEnd) {
        let one_way_ns = self.round_trip.one_way_ns(direction, now_ns);
        self.flows[direction.index()].end(now_ns, one_way_ns, end);
    }

    /// Takes what has arrived since the last call; it counts as held until it is delivered.
    pub fn arrive(&mut self, direction: Direction, now_ns: u64) -> Option<Arrived> {
        self.flows[direction.index()].arrive(now_ns)
    }

    /// Bytes that have arrived and are not delivered.
    pub fn arrived_len(&self, direction: Direction) -> u64 {
        self.flow(direction).arrived_len()
    }

    /// Bytes were handed to the receiver.
    pub fn deliver(&mut self, direction: Direction, len: u64) {
        self.flows[direction.index()].deliver(len);
    }

    /// How the direction has ended, once all before its end is delivered.
    pub fn ended(&self, direction: Direction, now_ns: u64) -> Option<FlowEnd> {
        self.flow(direction).ended(now_ns)
    }

    /// Whether nothing more enters the direction.
    pub fn is_ended(&self, direction: Direction) -> bool {
        self.flow(direction).is_ended()
    }

    /// When the next bytes, or the end, arrive, ns.
    pub fn next_ns(&self, direction: Direction) -> Option<u64> {
        self.flow(direction).next_ns()
    }

    /// Memory of the bytes on their way in a direction, bytes.
    pub fn held(&self, direction: Direction) -> u64 {
        self.flow(direction).held()
    }
}
