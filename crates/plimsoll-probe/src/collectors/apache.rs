//! Apache.

mod collect;
pub(crate) mod discover;
mod parse;

pub(crate) use collect::ApacheCollector;
