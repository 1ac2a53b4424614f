//! Python programs.

mod collect;
mod parse;

use super::integration::Integration;
use collect::PythonCollector;

/// What can be done with it.
pub(super) const INTEGRATION: Integration =
    Integration::new(|component, _, _| Box::new(PythonCollector::new(&component.place)));
