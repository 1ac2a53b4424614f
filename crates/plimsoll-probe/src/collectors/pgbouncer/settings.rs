//! The limits of pgbouncer, for advice.

use super::discover;
use crate::collectors::configuration::ComponentConfig;
use crate::files::Files;

/// Limits of a pgbouncer, by the configuration that its command line names.
pub(crate) fn of_process(files: &mut Files, pid: u32, words: &[&str]) -> Vec<ComponentConfig> {
    let found = discover::find(files, pid, words, false);
    let config = found.map(|found| {
        let config = ComponentConfig {
            at: found.component.place.to_string(),
            listens: Vec::new(),
            settings: found.known.settings,
        };
        config
            .or_default("max_client_conn", 100.0)
            .or_default("default_pool_size", 20.0)
    });
    config.into_iter().collect()
}
