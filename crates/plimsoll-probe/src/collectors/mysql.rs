//! `MariaDB` and `MySQL`.

mod collect;
mod digest_stats;
pub(crate) mod discover;
mod explain;
mod parse;
mod plans;
#[cfg(test)]
mod tests;
pub(super) mod tune;
mod wire;

pub(crate) use collect::MysqlCollector;
