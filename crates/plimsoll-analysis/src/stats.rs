//! Statistics of the instrument: small, pure, each with its source and the vectors it is held against.

pub mod bca;
pub mod changepoint;
pub mod contingency;
pub mod control_chart;
pub mod correlation;
pub mod divisive;
pub mod exact;
pub mod line;
pub mod order;
pub mod plane;
pub mod ranks;
pub mod scalability;
pub mod sequential;
mod slopes;
pub mod student;
pub mod trend;
pub mod warmup;
