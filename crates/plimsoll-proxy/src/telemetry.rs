//! What an event loop reports about requests: access-log entries and spans.

pub mod access_log_entry;
pub mod log;
pub mod moments;
pub mod trace;
