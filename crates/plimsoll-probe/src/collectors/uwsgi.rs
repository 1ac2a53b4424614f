//! uWSGI.

mod collect;
mod discover;
mod parse;
mod settings;
#[cfg(test)]
mod tests;
mod timeouts;

use super::integration::Integration;
use collect::UwsgiCollector;

/// What can be done with it.
pub(super) const INTEGRATION: Integration = Integration::new(|_, known, _| {
    Box::new(UwsgiCollector {
        settings: known.settings,
    })
})
.discovered(|process| {
    let found = discover::find(process.files, process.pid, process.words, process.auto);
    process.add_once(found);
})
.with_timeouts(|files, pid, words| vec![timeouts::of_process(files, pid, words)])
.with_settings(settings::of_process);
