//! gunicorn.

mod collect;
mod discover;
mod parse;
mod settings;
#[cfg(test)]
mod tests;
mod timeouts;

use super::integration::Integration;
use collect::GunicornCollector;

/// What can be done with it.
pub(super) const INTEGRATION: Integration = Integration::new(|component, known, _| {
    let place = component.place.clone();
    Box::new(GunicornCollector::new(place, known.pid, known.settings))
})
.discovered(|process| {
    let found = discover::find(process.files, process.pid, process.words);
    process.add_once(found);
})
.with_timeouts(|files, pid, words| vec![timeouts::of_process(files, pid, words)])
.with_settings(settings::of_process);
