//! nginx.

mod access_log;
mod collect;
mod configuration;
mod discover;
mod parse;
mod settings;
#[cfg(test)]
mod tests;
mod timeouts;
pub(crate) mod tree;

use super::integration::Integration;
use super::tail::file_of;
use access_log::AccessLogCollector;
use collect::NginxCollector;

/// What can be done with it.
pub(super) const INTEGRATION: Integration = Integration::new(|_, known, _| {
    Box::new(NginxCollector {
        settings: known.settings,
        dropped: 0,
    })
})
.discovered(discover::find)
.with_timeouts(timeouts::of_process)
.with_settings(settings::of_process);

/// Its access log.
pub(super) const ACCESS_LOG: Integration = Integration::new(|component, known, _| {
    Box::new(AccessLogCollector::new(&file_of(&component.place), &known))
});
