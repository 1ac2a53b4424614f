//! `PostgreSQL`.

mod collect;
mod discover;
mod explain;
pub(super) mod parse;
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
.tunable(tune::ACCESS)
.with_port_in_socket(discover::port_of);
