//! Apache.

mod collect;
mod discover;
mod parse;
pub(crate) mod settings;
mod timeouts;

use super::integration::Integration;
use collect::ApacheCollector;

/// What can be done with it.
pub(super) const INTEGRATION: Integration = Integration::new(|_, known, _| {
    Box::new(ApacheCollector {
        settings: known.settings,
    })
})
.discovered(|process| {
    let found = discover::find(process.files, process.pid, process.words, process.auto);
    process.add_once(found);
})
.with_timeouts(timeouts::of_process)
.with_settings(settings::of_process);
