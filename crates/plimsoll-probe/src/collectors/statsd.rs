//! StatsD: meters that an application sends over UDP.

mod collect;
pub mod parse;
mod receiver;
#[cfg(test)]
mod tests;
mod timer;
mod totals;

use super::integration::Integration;
use collect::StatsdCollector;

/// What can be done with it.
pub(super) const INTEGRATION: Integration =
    Integration::new(|component, _, _| Box::new(StatsdCollector::new(component.place.clone())));
