//! Reads access logs of servers: formats, requests, statistics of a day.
//!
//! Bytes in, values out: nothing here reads a file, a clock or a socket. A line that cannot be read never affects the
//! others; it is counted with its number and reason.

mod entry;

pub use entry::{CacheOutcome, HaproxyDetails, LineError, LogEntry, UpstreamTimes};
