//! The limits of memcached, for advice: they are in its command line.

use super::discover;
use crate::collectors::FileSetting;
use crate::collectors::configuration::ComponentConfig;
use crate::collectors::discovery::option;
use crate::files::Files;

/// Bytes of a mebibyte, in which `-m` counts.
const MEBIBYTE: f64 = 1_048_576.0;

/// Limits of a memcached.
pub(crate) fn of_process(_files: &mut Files, pid: u32, words: &[&str]) -> Vec<ComponentConfig> {
    let number = |name| option(words, name).and_then(|value| value.parse::<f64>().ok());
    let connections = number("-c").unwrap_or(1024.0);
    let threads = number("-t").unwrap_or(4.0);
    let memory = number("-m").unwrap_or(64.0) * MEBIBYTE;
    let config = discover::find(pid, words).map(|found| ComponentConfig {
        at: found.component.place.to_string(),
        settings: vec![
            FileSetting::number("max_connections", connections, ""),
            FileSetting::number("threads", threads, ""),
            FileSetting::number("limit_maxbytes", memory, ""),
        ],
        ..ComponentConfig::default()
    });
    config.into_iter().collect()
}
