//! `MariaDB` and `MySQL`.

mod collect;
mod digest_stats;
mod discover;
mod explain;
mod parse;
mod plans;
mod settings;
#[cfg(test)]
mod tests;
mod tune;
mod wire;

use super::integration::Integration;
use collect::MysqlCollector;

/// What can be done with it.
pub(super) const INTEGRATION: Integration = Integration::new(|component, _, own_name| {
    let login = component.login.clone();
    Box::new(MysqlCollector::new(login, own_name.to_owned()))
})
.discovered(|process| {
    let found = discover::find(process.files, process.pid, process.words);
    process.add(found);
})
.with_settings(settings::of_process)
.tunable(tune::ACCESS);
