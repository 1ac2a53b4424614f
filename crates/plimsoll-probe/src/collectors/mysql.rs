//! `MariaDB` and `MySQL`.

mod collect;
mod digest_stats;
pub(crate) mod discover;
mod explain;
mod parse;
mod plans;
pub(super) mod tune;
mod wire;

pub(crate) use collect::MysqlCollector;
