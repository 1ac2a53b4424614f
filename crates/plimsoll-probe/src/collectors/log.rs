//! Logs of proxies and of PHP-FPM.

mod collect;
mod parse;

pub(crate) use collect::{LogCollector, LogSource};
