//! `PostgreSQL`.

mod collect;
pub(crate) mod discover;
mod explain;
pub(crate) mod parse;
mod statement_stats;
#[cfg(test)]
mod tests;
pub(super) mod tune;
pub(super) mod wire;

pub(crate) use collect::PostgresCollector;
