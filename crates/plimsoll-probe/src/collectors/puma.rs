//! Puma.

mod collect;
mod discover;
mod parse;
pub(crate) mod settings;
mod timeouts;

use super::integration::Integration;
use collect::PumaCollector;
use plimsoll_model::component::ComponentKind;

/// What can be done with it.
pub(super) const INTEGRATION: Integration = Integration::new(|component, _, _| {
    Box::new(PumaCollector {
        login: component.login.clone(),
    })
})
.discovered(|process| {
    if process.is_unnamed(ComponentKind::Puma) {
        discover::report(process.files, process.pid, process.words);
    }
})
.with_timeouts(timeouts::of_process)
.with_settings(settings::of_process);
