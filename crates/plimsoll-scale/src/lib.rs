//! How many replicas a service shall have.
//!
//! [`decide()`] is one pure function over a policy, its state and the readings of a second: the same function runs in a
//! replay ([`replay()`]), and wherever else something is scaled. [`judgement`] measures any scaler, whoever it is,
//! by the demand and the supply that were recorded.
//!
//! Nothing here reads a clock, a file or a socket. A decision never goes below what stands because a reading is
//! missing, and has its reason in words.

mod capacity;
mod decide;
mod decision;
pub mod judgement;
mod oscillation;
mod paid;
mod presets;
mod readings;
mod recommendation;
mod replay;
mod rules;
mod trace;
mod whole;

pub use capacity::ReplicaLaw;
pub use decide::{ScaleState, decide};
pub use decision::Decision;
pub use oscillation::{MustOscillate, must_oscillate};
pub use presets::{PRESETS, preset};
pub use readings::{ScaleReadings, SharedTier, SignalValues};
pub use replay::{Replay, ReplayError, ReplaySecond, replay};
pub use trace::{ScaleTrace, TRACE_LEN_MAX, TRACE_S_MAX, TraceError};
