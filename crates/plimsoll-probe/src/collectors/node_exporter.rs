//! Other machines, by the pages of their `node_exporter`, which a Prometheus server may have, and by those of Telegraf.

mod collect;
mod machine;
mod page;
mod record;
mod server;
mod telegraf;
#[cfg(test)]
mod tests;

use super::integration::Integration;
use collect::NodeExporterCollector;

/// What can be done with it.
pub(super) const INTEGRATION: Integration = Integration::new(|component, known, _| {
    Box::new(NodeExporterCollector::new(&component.place, known.target))
});

/// The same of Telegraf.
pub(super) const TELEGRAF: Integration = Integration::new(|component, known, _| {
    Box::new(NodeExporterCollector::of_telegraf(
        &component.place,
        known.target,
    ))
});
