//! What people write, turned into the model's nouns: durations, rates, sizes, objectives, status sets, loads.
//!
//! No I/O. Every fault is a [`Problem`] that names the place, what is wrong, the valid range and the nearest right
//! word. [`plan`] reads plan files.

pub mod edge;
pub mod load;
pub mod objective;
pub mod plan;
pub mod problem;
pub mod status;
pub mod units;

pub use problem::Problem;
