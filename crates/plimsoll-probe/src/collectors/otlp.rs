//! OTLP: spans and metrics that services export.

mod clocks;
mod collect;
mod gather;
mod meaning;
mod meters;
pub mod parse;
mod receiver;
mod request;
#[cfg(test)]
mod tests;
mod totals;

use super::integration::Integration;
use collect::OtlpCollector;

/// What can be done with it.
pub(super) const INTEGRATION: Integration =
    Integration::new(|component, _, _| Box::new(OtlpCollector::new(&component.place)));
