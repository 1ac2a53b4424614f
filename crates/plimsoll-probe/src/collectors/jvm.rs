//! JVMs.

mod collect;
mod discover;
mod heap;
mod hsperf;
mod listen_backlog;
mod parse;
pub(crate) mod settings;
pub(crate) mod spring;
#[cfg(test)]
mod tests;
mod tomcat;

use super::integration::Integration;
use collect::JvmCollector;

/// What can be done with it.
pub(super) const INTEGRATION: Integration = Integration::new(|component, known, _| {
    let place = component.place.clone();
    Box::new(JvmCollector::new(place, known.pid, known.named_by))
})
.discovered(|process| {
    let found = discover::find(process.files, process.pid, process.auto);
    process.add_once(found);
})
.with_settings(settings::of_process);
