//! PHP-FPM.

mod collect;
mod discover;
mod parse;
mod processes;
mod settings;
#[cfg(test)]
mod tests;
mod timeouts;

use super::integration::Integration;
use collect::PhpFpmCollector;
use processes::PhpFpmProcessCollector;
pub(crate) use settings::{
    OVERRIDES, ini_files, ini_files_of_module, is_php_module, lacks_opcache, module_lacks_opcache,
    opcache_of_module,
};

/// What can be done with it.
pub(super) const INTEGRATION: Integration =
    Integration::new(|component, known, _| match (known.pool, known.pid) {
        // Without a status page, its processes are sampled.
        (Some(pool), Some(pid)) => {
            let place = component.place.clone();
            Box::new(PhpFpmProcessCollector::new(
                pool,
                pid,
                place,
                known.settings,
            ))
        }
        _ => Box::new(PhpFpmCollector {
            settings: known.settings,
        }),
    })
    .discovered(discover::find)
    .with_timeouts(timeouts::of_process)
    .with_settings(settings::of_process);
