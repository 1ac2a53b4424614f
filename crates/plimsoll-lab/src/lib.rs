//! Carries out runs and searches: starts load and probes in order, measures, and owns the run log.
//!
//! Everything that happens becomes an [`plimsoll_model::event::Event`] in one order; [`run_log`] puts it on disk
//! before anything else uses it. Reports are read back from there.

pub mod active_run;
mod carried_load;
pub mod clock;
pub mod controls;
pub mod cycles;
pub mod error;
pub mod experiment;
pub mod history;
pub mod input;
pub mod intervention;
pub mod limit;
pub mod line_file;
pub mod output;
pub mod probes;
pub mod progress;
pub mod run;
pub mod run_log;
pub mod service;
pub mod watch;
