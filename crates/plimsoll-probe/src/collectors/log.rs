//! Logs of proxies and of PHP-FPM.

mod collect;
mod parse;
#[cfg(test)]
mod tests;

use super::integration::Integration;
use super::tail::file_of;
use collect::{LogCollector, LogSource};

/// The error log of nginx.
pub(super) const OF_NGINX: Integration = Integration::new(|component, known, _| {
    Box::new(LogCollector::new(
        LogSource::Nginx,
        &file_of(&component.place),
        known,
    ))
});

/// The log of `HAProxy`.
pub(super) const OF_HAPROXY: Integration = Integration::new(|component, known, _| {
    Box::new(LogCollector::new(
        LogSource::Haproxy,
        &file_of(&component.place),
        known,
    ))
});

/// The log of slow requests of PHP-FPM.
pub(super) const OF_PHP_FPM: Integration = Integration::new(|component, known, _| {
    Box::new(LogCollector::new(
        LogSource::PhpFpm,
        &file_of(&component.place),
        known,
    ))
});
