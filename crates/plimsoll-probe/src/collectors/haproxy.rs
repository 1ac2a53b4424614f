//! `HAProxy`.

mod collect;
mod configuration;
mod discover;
mod parse;
mod settings;
#[cfg(test)]
mod tests;
mod timeouts;
mod tune;

use super::integration::Integration;
use collect::HaproxyCollector;

pub(crate) use configuration::SECTIONS;

/// What can be done with it.
pub(super) const INTEGRATION: Integration = Integration::new(|_, known, _| {
    Box::new(HaproxyCollector {
        settings: known.settings,
    })
})
.discovered(discover::find)
.with_timeouts(timeouts::of_process)
.with_settings(settings::of_process)
.tunable(tune::ACCESS);
