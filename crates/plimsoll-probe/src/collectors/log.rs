//! Logs of proxies and of PHP-FPM.

mod collect;
mod parse;
#[cfg(test)]
mod tests;

pub(crate) use collect::{LogCollector, LogSource};
