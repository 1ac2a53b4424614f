//! `MongoDB`.

mod collect;
mod discover;
mod parse;

use super::integration::Integration;
use collect::MongoCollector;

/// What can be done with it.
pub(super) const INTEGRATION: Integration =
    Integration::new(|component, _, _| Box::new(MongoCollector::new(component.login.clone())))
        .discovered(|process| {
            let found = Some(discover::find(process.files, process.pid, process.words));
            process.add_once(found);
        });
