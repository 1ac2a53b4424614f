//! A link between a load generator and its target: a TCP relay whose bytes take the time of a long way.
//!
//! [`schedule`] decides when which bytes arrive. It does no I/O, reads no clock and draws from a given seed: the same
//! segments at the same moments arrive at the same moments. [`relay`] is the I/O around it: listeners, connections and
//! a timer of the kernel, on a thread of its own.
//!
//! What a relay cannot imitate: the handshake of a client ends at once, at this machine. So the first bytes of a
//! connection wait for the time of a handshake; a client's own connect time is that of this machine.

mod bucket;
mod clock;
pub mod conditions;
mod direction;
mod error;
mod loops;
pub mod relay;
mod round_trip;
pub mod schedule;
mod totals;

pub use direction::Direction;
pub use error::LinkError;
pub use totals::{DirectionTotals, LinkTotals, RelayTotals};
