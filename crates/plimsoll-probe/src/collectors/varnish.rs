//! Varnish.

mod collect;
mod discover;
mod parse;
mod settings;
#[cfg(test)]
mod tests;

use super::integration::Integration;
use collect::VarnishCollector;
use plimsoll_model::component::ComponentKind;

/// What can be done with it.
pub(super) const INTEGRATION: Integration = Integration::new(|component, known, _| {
    Box::new(VarnishCollector::new(&component.place, known.settings))
})
.discovered(|process| {
    if process.is_unnamed(ComponentKind::Varnish) {
        discover::report(process.files, process.pid, process.words);
    }
})
.with_settings(settings::of_process);
