//! Node.

mod collect;
mod discover;
pub(crate) mod settings;

use super::integration::Integration;
pub use collect::MODULE;
use collect::NodeCollector;

/// What can be done with it.
pub(super) const INTEGRATION: Integration = Integration::new(|_, _, _| Box::new(NodeCollector))
    .discovered(|process| {
        let found = discover::find(process.files, process.pid, process.auto);
        process.add(found);
    })
    .with_settings(settings::of_process);
