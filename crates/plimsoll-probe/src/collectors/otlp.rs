//! OTLP: spans that traced services export.

mod clocks;
mod collect;
mod gather;
mod meaning;
pub mod parse;
mod receiver;
mod request;
#[cfg(test)]
mod tests;
mod totals;

pub(crate) use collect::OtlpCollector;
