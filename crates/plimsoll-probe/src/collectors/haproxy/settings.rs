//! The limits of `HAProxy`, for advice.

use super::configuration;
use super::discover::{paths_of, settings_of, socket_of};
use crate::collectors::configuration::ComponentConfig;
use crate::collectors::discovery::text_named;
use crate::files::Files;

/// Limits of a `HAProxy`, by the configuration that its command line names.
pub(crate) fn of_process(files: &mut Files, pid: u32, words: &[&str]) -> Vec<ComponentConfig> {
    let paths = paths_of(words);
    let (mut settings, mut at) = (Vec::new(), None);
    for path in &paths {
        let Some(text) = text_named(files, pid, path) else {
            continue;
        };
        let read = configuration::read(&text);
        at = at.or_else(|| read.sockets.iter().find_map(|socket| socket_of(socket)));
        settings.extend(settings_of(path, read));
    }
    let main = paths.first().copied().unwrap_or_default();
    vec![ComponentConfig {
        at: at.map_or_else(|| main.to_owned(), |place| place.to_string()),
        settings,
        ..ComponentConfig::default()
    }]
}
