//! How the edge stands, for people: a sentence, what is wrong and since when, and the last hour.
//!
//! Once a second the admin thread hands a snapshot and the time to a [`Recorder`]. Everything here is plain arithmetic on
//! them: no clock, no I/O, and nothing that an event loop waits for. Memory is bounded by the size of the configuration.

mod capacity;
mod channels;
mod columns;
mod condition;
mod document;
mod format;
mod recorder;
mod report;
mod rules;
mod sentence;
mod window;

pub(crate) use recorder::{Moment, Recorder};
pub use report::schema;
