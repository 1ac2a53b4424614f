//! JVMs.

mod collect;
pub(crate) mod discover;
mod hsperf;
mod listen_backlog;
mod parse;

pub(crate) use collect::JvmCollector;
