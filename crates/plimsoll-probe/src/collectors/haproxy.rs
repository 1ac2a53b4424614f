//! `HAProxy`.

pub(crate) mod advise;
mod collect;
mod configuration;
pub(crate) mod discover;
mod parse;
#[cfg(test)]
mod tests;
pub(super) mod tune;

pub(crate) use collect::HaproxyCollector;
