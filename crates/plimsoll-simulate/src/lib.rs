//! Worlds in virtual time: what a service would do under a load, before it is rented.
//!
//! A [`World`](plimsoll_config::world::World) becomes flat arrays; an engine takes the next event from a heap, and the clock is
//! the time of that event. There is no I/O and no clock of the machine, and all randomness comes from a seed: the same world
//! and seed give the same result, byte for byte.
//!
//! - [`simulate`] runs a world until its means are known well enough, or for a given time of the world.
//! - [`load_line`] searches the largest load at which the objective holds, and names what limits it.
//! - [`Forecast`] is arithmetic without events: how often each tier is called, and how much it carries at most.
//!
//! What a world has not: congestion of links, CPU that slows down with the number of threads, balancers that do not know which
//! server is free. A request is served before it calls others, and nothing after.

mod batch_means;
mod compiled;
mod engine;
mod error;
mod event_heap;
mod forecast;
mod line;
mod result;
mod simulation;
mod time_histogram;
mod time_law;

pub use error::SimulateError;
pub use forecast::{Forecast, TierForecast};
pub use line::{FirstLimit, LimitKind, LoadLine, load_line};
pub use result::{Ending, MeanInterval, Simulated, SimulatedRegion, SimulatedTier, TimesMs};
pub use simulation::{EVENTS_MAX, PRECISION, SimulationOptions, simulate};
