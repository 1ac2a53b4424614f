//! Redis and Valkey.

mod collect;
mod discover;
mod parse;
mod settings;
#[cfg(test)]
mod tests;
mod tune;

use super::integration::Integration;
use collect::RedisCollector;

/// What can be done with it.
pub(super) const INTEGRATION: Integration = Integration::new(|component, known, _| {
    Box::new(RedisCollector {
        login: component.login.clone(),
        pid: known.pid,
    })
})
.discovered(|process| {
    let found = discover::find(process.pid, process.words);
    process.add(found);
})
.with_settings(settings::of_process)
.tunable(tune::ACCESS);
