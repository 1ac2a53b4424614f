//! pgbouncer.

mod collect;
mod discover;
pub(crate) mod parse;
mod settings;
#[cfg(test)]
mod tests;

use super::integration::Integration;
use collect::PgbouncerCollector;

/// What can be done with it.
pub(super) const INTEGRATION: Integration = Integration::new(|component, known, _| {
    let login = component.login.clone();
    Box::new(PgbouncerCollector::new(login, known.settings))
})
.discovered(|process| {
    let found = discover::find(process.files, process.pid, process.words, process.auto);
    process.add_once(found);
})
.with_settings(settings::of_process);
