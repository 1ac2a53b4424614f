//! The times of a load that all loops keep, in ns.

use std::time::Duration;

use plimsoll_model::plan::{Load, Plan};

use crate::clock::nanoseconds;
use crate::due::NEVER;

/// Longest drain time of unfinished requests after the last one was due.
const DRAIN_MAX: Duration = Duration::from_secs(10);

/// Time before an arrival in which responses are left unread.
const LINGER_NS: u64 = 300_000;

/// Longest time that responses are left unread between ticks: far below the second in which they are counted.
const LINGER_NS_MAX: u64 = 100_000_000;

/// Rate of a loop from which on an arrival is that close most of the time, 1/s.
const LINGER_RATE_MIN: f64 = 2_000.0;

/// Time-outs, drain and ticks of a load.
#[derive(Debug)]
pub(crate) struct Timing {
    timeout_ns: u64,
    connect_timeout_ns: u64,
    drain_ns: u64,
    /// Above 0.
    tick_ns: u64,
    linger_ns: u64,
    highest_us: u64,
}

impl Timing {
    pub(super) fn new(plan: &Plan, load: &Load) -> Self {
        let timeout_ns = nanoseconds(plan.transport.timeout);
        let drain_ns = timeout_ns.min(nanoseconds(DRAIN_MAX));
        let longest_ns = nanoseconds(load.lasting())
            .saturating_add(timeout_ns)
            .saturating_add(drain_ns);
        Self {
            timeout_ns,
            connect_timeout_ns: nanoseconds(plan.transport.connect_timeout),
            drain_ns,
            tick_ns: plan.tick.map_or(1, nanoseconds).max(1),
            linger_ns: linger_ns(plan, load),
            highest_us: longest_ns / 1000,
        }
    }

    pub(crate) fn timeout_ns(&self) -> u64 {
        self.timeout_ns
    }

    /// When a request due at `due` times out.
    #[inline]
    pub(crate) fn expiry_of(&self, due: u64) -> u64 {
        due.saturating_add(self.timeout_ns)
    }

    /// When a connection dialed at `now` times out.
    pub(crate) fn connect_deadline(&self, now: u64) -> u64 {
        now.saturating_add(self.connect_timeout_ns)
    }

    /// When the drain of a load that ends at `end` is over.
    pub(crate) fn drain_end(&self, end: u64) -> u64 {
        end.saturating_add(self.drain_ns)
    }

    /// The last tick up to `now`: what is due by then is sent.
    #[inline]
    pub(crate) fn last_tick(&self, now: u64) -> u64 {
        now - now % self.tick_ns
    }

    /// The tick at which what is due at `due` is sent.
    #[inline]
    pub(crate) fn next_tick(&self, due: u64) -> u64 {
        match due {
            NEVER => NEVER,
            due => due.div_ceil(self.tick_ns) * self.tick_ns,
        }
    }

    /// Responses wait to be read while a request is due within this time; 0 for never.
    #[inline]
    pub(crate) fn linger_ns(&self) -> u64 {
        self.linger_ns
    }

    /// The longest response time that can be recorded, µs.
    pub(crate) fn highest_us(&self) -> u64 {
        self.highest_us
    }
}

/// In a dense open load, a loop does not wake for each response: the kernel stamps responses on arrival, and the loop
/// reads them when it wakes for the next request. Responses that steer the load are read at once, and so are those of
/// unix sockets, which have no timestamps.
fn linger_ns(plan: &Plan, load: &Load) -> u64 {
    let Load::Open { phases, .. } = load else {
        return 0;
    };
    if plan.target.unix_socket.is_some() {
        return 0;
    }
    if let Some(tick) = plan.tick {
        return nanoseconds(tick).min(LINGER_NS_MAX);
    }
    let highest = phases.iter().map(|phase| phase.from.max(phase.to));
    let dense = highest.fold(0.0, f64::max) >= LINGER_RATE_MIN * f64::from(plan.cores);
    if dense { LINGER_NS } else { 0 }
}
