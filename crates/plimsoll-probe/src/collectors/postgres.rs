//! `PostgreSQL`.

mod collect;
mod discover;
mod explain;
pub(super) mod parse;
pub(crate) mod settings;
mod statement_stats;
#[cfg(test)]
mod tests;
mod tune;
pub(super) mod wire;

use super::integration::Integration;
use collect::PostgresCollector;

/// What can be done with it.
pub(super) const INTEGRATION: Integration = Integration::new(|component, _, own_name| {
    let login = component.login.clone();
    Box::new(PostgresCollector::new(login, own_name.to_owned()))
})
.discovered(|process| {
    let found = discover::find(process.files, process.pid, process.words, process.auto);
    process.add(found);
})
.with_settings(settings::of_process)
.tunable(tune::ACCESS)
.with_port_in_socket(discover::port_of);
