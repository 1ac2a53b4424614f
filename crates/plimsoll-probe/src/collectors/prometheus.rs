//! Metrics pages in the Prometheus format.

mod collect;
pub(crate) mod discover;
pub(crate) mod parse;
mod pool_series;

pub(crate) use collect::PrometheusCollector;
