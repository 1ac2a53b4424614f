//! Reads access logs of servers: formats, requests, statistics of a day.
//!
//! Bytes in, values out: nothing here reads a file, a clock or a socket. A line that cannot be read never affects the
//! others; it is counted with its number and reason.

mod client;
pub mod day;
mod detect;
mod draft;
mod entry;
mod format;
mod moment;
mod reader;
mod request;
pub mod usual_day;
mod value;

pub use detect::{DetectError, Detected, SAMPLE_LINES_MAX, detect};
pub use entry::{CacheOutcome, HaproxyDetails, LINE_LEN_MAX, LineError, LogEntry, UpstreamTimes};
pub use format::wrapper::Unwrapper;
pub use format::{Format, FormatError};
pub use reader::LogReader;
