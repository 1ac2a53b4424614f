//! The settings of Apache, for advice.

use super::discover::{config_of, place_of};
use super::parse::ApacheConfig;
use crate::collectors::configuration::ComponentConfig;
use crate::collectors::php_fpm::opcache_of_module;
use crate::files::Files;

/// `ServerLimit` of `prefork`, and of `worker` and `event`, where it is not written.
pub(crate) const PREFORK_PROCESSES: u32 = 256;
pub(crate) const THREADED_PROCESSES: u32 = 16;
/// `ThreadsPerChild` and `ThreadLimit`, where they are not written.
pub(crate) const THREADS: u32 = 25;
pub(crate) const THREADS_MAX: u32 = 64;

/// Settings of an Apache, by the configuration that its command line names and what that includes.
pub(crate) fn of_process(files: &mut Files, pid: u32, words: &[&str]) -> Vec<ComponentConfig> {
    let (main, read) = config_of(files, pid, words);
    let Some(read) = read else {
        return Vec::new();
    };
    let mut own = config(main, &read);
    if let Some(library) = &read.php {
        own.settings.extend(opcache_of_module(files, pid, library));
    }
    vec![own]
}

fn config(main: String, read: &ApacheConfig) -> ComponentConfig {
    let page = read.pages.first().and_then(|path| place_of(read, path));
    let config = ComponentConfig {
        at: page.map_or(main, |page| page.to_string()),
        listens: read.listen.clone(),
        settings: read.settings(),
        ..ComponentConfig::default()
    };
    match read.mpm.as_deref() {
        Some("prefork") => config.or_default("MaxRequestWorkers", PREFORK_PROCESSES.into()),
        Some("worker" | "event") => config
            .or_default("MaxRequestWorkers", (THREADED_PROCESSES * THREADS).into())
            .or_default("ServerLimit", THREADED_PROCESSES.into())
            .or_default("ThreadsPerChild", THREADS.into()),
        _ => config,
    }
}
