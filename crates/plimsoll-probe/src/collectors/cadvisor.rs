//! Containers of other machines, by the pages of their cAdvisor.

mod collect;
mod containers;
mod record;
#[cfg(test)]
mod tests;

use super::integration::Integration;
use collect::CadvisorCollector;

/// What can be done with it.
pub(super) const INTEGRATION: Integration =
    Integration::new(|component, _, _| Box::new(CadvisorCollector::new(&component.place)));
