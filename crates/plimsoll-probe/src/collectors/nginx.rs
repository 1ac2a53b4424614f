//! nginx.

mod access_log;
pub(crate) mod advise;
mod collect;
mod configuration;
pub(crate) mod discover;
mod parse;
#[cfg(test)]
mod tests;
mod tree;

pub(crate) use access_log::AccessLogCollector;
pub(crate) use collect::NginxCollector;
