//! The settings of uWSGI, for advice.

use super::discover::{options_of, place_of};
use super::parse::UwsgiSetting;
use crate::collectors::FileSetting;
use crate::collectors::configuration::ComponentConfig;
use crate::files::Files;

/// uWSGI's own queue of connections.
const LISTEN: f64 = 100.0;

/// Settings of a uWSGI, by its command line and the ini files that this names.
pub(crate) fn of_process(files: &mut Files, pid: u32, words: &[&str]) -> Vec<ComponentConfig> {
    let (options, written) = options_of(files, pid, words);
    let at = place_of(&options).map(|place| place.to_string());
    let at = at.or_else(|| options.sockets.first().cloned());
    let mut config = ComponentConfig {
        at: at.unwrap_or_else(|| format!("pid {pid}")),
        settings: written,
        ..ComponentConfig::default()
    };
    let own = |name, setting: UwsgiSetting| {
        let (value, _) = setting?;
        Some(FileSetting::number(name, value as f64, ""))
    };
    for setting in [
        own("processes", options.processes),
        own("threads", options.threads),
        own("listen", options.listen),
        own("max-requests", options.max_requests),
    ] {
        // What a command line sets is written in no file.
        let setting = setting.filter(|setting| !config.has(setting.name));
        config.settings.extend(setting);
    }
    let config = config.or_default("processes", 1.0);
    vec![
        config
            .or_default("threads", 1.0)
            .or_default("listen", LISTEN),
    ]
}
