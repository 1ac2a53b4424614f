//! The arithmetic of experiments: trials in blocks go in, effects with intervals and decisions come out.
//!
//! The trial is the unit of every test, never the request: requests of a trial are alike, and so many that anything is
//! significant. Effects are differences of settings within a block, so what disturbs a whole block cancels; drift that
//! the reference trials show is taken out before. Nothing here carries out a trial.

pub mod block_pairs;
pub mod cells;
pub mod comparison;
pub mod cost;
pub mod cycles;
pub mod drift;
pub mod effect;
pub mod history;
pub mod history_gate;
pub mod matrix;
pub mod meters;
pub mod metrics;
pub mod order;
pub mod repeated;
pub mod result;
pub mod run_series;
pub mod trial;
