//! Go programs.

mod collect;
mod discover;
mod parse;

use super::integration::Integration;
use collect::GoCollector;
use plimsoll_model::component::ComponentKind;

/// What can be done with it.
pub(super) const INTEGRATION: Integration =
    Integration::new(|_, _, _| Box::new(GoCollector::new())).discovered(|process| {
        if process.is_unnamed(ComponentKind::Go) {
            discover::report(process.files, process.pid, process.comm);
        }
    });
