//! Redis and Valkey.

mod collect;
pub(crate) mod discover;
mod parse;
#[cfg(test)]
mod tests;
pub(super) mod tune;

pub(crate) use collect::RedisCollector;
