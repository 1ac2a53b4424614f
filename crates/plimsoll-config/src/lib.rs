//! Parses human input into the types of the model: durations, rates, sizes, objectives, status sets, loads.
//!
//! No I/O. Every error is a [`Problem`] with the place, the fault, the valid range and the nearest valid
//! word. [`plan`] reads plan files, [`edge`] the file of the edge, [`experiment`] those of experiments,
//! [`hosts`] that of hosts which carry a load, [`scale`] a scaling policy,
//! [`tuned`] what a search of settings has found, [`world`] that of a simulated
//! world; each is a [`document`].

mod demand;
pub mod distribution;
pub mod document;
pub mod edge;
pub mod experiment;
pub mod hosts;
pub mod link;
pub mod load;
pub mod login;
pub mod objective;
pub mod patience;
pub mod plan;
mod price;
pub mod problem;
pub mod regions;
pub mod scale;
pub mod sentence;
pub mod status;
pub mod tuned;
pub mod units;
pub mod world;

pub use problem::Problem;
