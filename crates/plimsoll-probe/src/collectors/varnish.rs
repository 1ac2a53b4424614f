//! Varnish.

mod collect;
pub(crate) mod discover;
mod parse;
#[cfg(test)]
mod tests;

pub(crate) use collect::VarnishCollector;
