//! Redis and Valkey.

mod collect;
pub(crate) mod discover;
mod parse;
pub(super) mod tune;

pub(crate) use collect::RedisCollector;
