//! Other machines, by the pages of their `node_exporter`.

mod collect;
mod machine;
mod page;
mod record;
#[cfg(test)]
mod tests;

use super::integration::Integration;
use collect::NodeExporterCollector;

/// What can be done with it.
pub(super) const INTEGRATION: Integration = Integration::new(|component, known, _| {
    Box::new(NodeExporterCollector::new(&component.place, known.target))
});
