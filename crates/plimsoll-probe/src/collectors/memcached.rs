//! memcached.

mod collect;
mod discover;
mod parse;
mod settings;

use super::integration::Integration;
use collect::MemcachedCollector;

/// What can be done with it.
pub(super) const INTEGRATION: Integration =
    Integration::new(|_, _, _| Box::new(MemcachedCollector))
        .discovered(|process| {
            let found = discover::find(process.pid, process.words);
            process.add(found);
        })
        .with_settings(settings::of_process);
