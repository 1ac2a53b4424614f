//! Metrics pages in the Prometheus format.

mod collect;
pub(crate) mod discover;
pub(crate) mod parse;
mod pool_series;
#[cfg(test)]
mod tests;

pub(crate) use collect::PrometheusCollector;
