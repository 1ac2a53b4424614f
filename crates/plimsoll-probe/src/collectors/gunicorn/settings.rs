//! The settings of gunicorn, for advice.

use super::discover;
use crate::collectors::FileSetting;
use crate::collectors::configuration::{ComponentConfig, children_of};
use crate::files::Files;

/// gunicorn's own queue of connections.
const BACKLOG: f64 = 2048.0;

/// Settings of a gunicorn: its command line, its file, and the workers that it has.
pub(crate) fn of_process(files: &mut Files, pid: u32, words: &[&str]) -> Vec<ComponentConfig> {
    let Some(found) = discover::find(files, pid, words) else {
        return Vec::new();
    };
    let at = found.component.place.to_string();
    let config = ComponentConfig {
        listens: vec![at.clone()],
        at,
        settings: found.known.settings,
        ..ComponentConfig::default()
    };
    let workers = children_of(files, pid).len();
    vec![counted(config, workers)]
}

/// The settings with as many workers as there are: a signal may have changed their number.
fn counted(mut config: ComponentConfig, workers: usize) -> ComponentConfig {
    if workers > 0 {
        match config
            .settings
            .iter_mut()
            .find(|setting| setting.name == "workers")
        {
            Some(written) => written.value = workers as f64,
            None => config
                .settings
                .push(FileSetting::number("workers", workers as f64, "")),
        }
    }
    config
        .or_default("workers", 1.0)
        .or_default("threads", 1.0)
        .or_default("backlog", BACKLOG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_counted_and_defaults_added() {
        let config = ComponentConfig {
            settings: vec![FileSetting::number("workers", 4.0, "/g.py:1")],
            ..ComponentConfig::default()
        };
        let right = [
            FileSetting::number("workers", 2.0, "/g.py:1"),
            FileSetting::number("threads", 1.0, ""),
            FileSetting::number("backlog", 2048.0, ""),
        ];
        assert_eq!(counted(config, 2).settings, right);
        assert_eq!(
            counted(ComponentConfig::default(), 0).settings[0]
                .value
                .to_string(),
            "1"
        );
    }
}
