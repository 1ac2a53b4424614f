//! Redis and Valkey.

mod collect;
mod discover;
mod parse;
#[cfg(test)]
mod tests;
mod tune;

use super::configuration::ComponentConfig;
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
.with_settings(|_, pid, words| {
    let found = discover::find(pid, words);
    let config = found.map(|found| ComponentConfig {
        at: found.component.place.to_string(),
        ..ComponentConfig::default()
    });
    config.into_iter().collect()
})
.tunable(tune::ACCESS);
