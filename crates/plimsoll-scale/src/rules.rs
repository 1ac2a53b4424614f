//! The policies, each with its state.

mod concurrency;
mod forecast;
mod line;
mod past;
mod schedule;
mod target;
mod threshold;

pub(crate) use concurrency::ConcurrencyState;
pub(crate) use line::LineState;
pub(crate) use schedule::recommend as scheduled;
pub(crate) use target::TargetState;
pub(crate) use threshold::ThresholdState;
