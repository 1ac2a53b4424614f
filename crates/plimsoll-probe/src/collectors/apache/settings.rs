//! The settings of Apache, for advice.

use super::discover::{config_of, place_of};
use super::parse::ApacheConfig;
use crate::collectors::configuration::ComponentConfig;
use crate::files::Files;

/// `MaxRequestWorkers` of `prefork`, and of `worker` and `event`: 16 processes of 25 threads.
const PREFORK: f64 = 256.0;
const THREADED: f64 = 400.0;

/// Settings of an Apache, by the configuration that its command line names and what that includes.
pub(crate) fn of_process(files: &mut Files, pid: u32, words: &[&str]) -> Vec<ComponentConfig> {
    let (main, read) = config_of(files, pid, words);
    read.map(|read| config(main, &read)).into_iter().collect()
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
        Some("prefork") => config.or_default("MaxRequestWorkers", PREFORK),
        Some("worker" | "event") => config
            .or_default("MaxRequestWorkers", THREADED)
            .or_default("ServerLimit", 16.0)
            .or_default("ThreadsPerChild", 25.0),
        _ => config,
    }
}
