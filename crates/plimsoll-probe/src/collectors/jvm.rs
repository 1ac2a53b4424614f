//! JVMs.

mod collect;
pub(crate) mod discover;
mod hsperf;
mod listen_backlog;
mod parse;
#[cfg(test)]
mod tests;

pub(crate) use collect::JvmCollector;
