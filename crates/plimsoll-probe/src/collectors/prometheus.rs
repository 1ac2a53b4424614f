//! Metrics pages in the Prometheus format.

mod collect;
mod discover;
pub(crate) mod parse;
mod pool_series;
#[cfg(test)]
mod tests;

use super::integration::Integration;
use collect::PrometheusCollector;

/// What can be done with it.
pub(super) const INTEGRATION: Integration =
    Integration::new(|component, _, _| Box::new(PrometheusCollector::new(&component.place)))
        .discovered(|process| {
            if process.auto {
                discover::report(process.files, process.pid, process.comm, process.words);
            }
        });
