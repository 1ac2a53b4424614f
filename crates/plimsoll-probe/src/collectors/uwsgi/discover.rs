//! Discovers uWSGI.

use plimsoll_model::component::{ComponentAddress, ComponentKind};

use super::parse::{UwsgiOptions, command_line, configuration};
use super::timeouts::HARAKIRI;
use crate::collectors::discovery::{DiscoveredComponent, address_of, text_named};
use crate::collectors::{ComponentMetadata, FileSetting};
use crate::files::Files;

/// Ini files of one uWSGI that are read.
const FILES_MAX: usize = 16;

/// uWSGI, by its command line and the ini files that this names.
pub(crate) fn find(
    files: &mut Files,
    pid: u32,
    words: &[&str],
    auto: bool,
) -> Option<DiscoveredComponent> {
    let (options, written) = options_of(files, pid, words);
    let named = &options.files;
    let Some(place) = place_of(&options) else {
        if auto {
            let main = named.last().map_or("its ini file", String::as_str);
            files.announce(
                &format!("uwsgi {main}"),
                &format!(
                    "uWSGI (pid {pid}) has no stats address in its configuration: add `stats = 127.0.0.1:1717` to \
                     `[uwsgi]` in {main}, and restart it; or name the address: `watch: {{ auto: true, uwsgi: \
                     127.0.0.1:1717 }}`"
                ),
            );
        }
        return None;
    };
    let known = ComponentMetadata {
        settings: written,
        pid: Some(pid),
        ..ComponentMetadata::default()
    };
    let source = named.first().cloned();
    let source = source.unwrap_or_else(|| format!("the command line of pid {pid}"));
    Some(DiscoveredComponent::new(
        ComponentKind::Uwsgi,
        place,
        known,
        source,
    ))
}

/// Its options, and which of them are written in its files.
pub(super) fn options_of(
    files: &mut Files,
    pid: u32,
    words: &[&str],
) -> (UwsgiOptions, Vec<FileSetting>) {
    let mut options = command_line(words);
    let mut written: Vec<FileSetting> = Vec::new();
    let named = options.files.clone();
    for file in named.iter().take(FILES_MAX) {
        // A section of a file may follow `:`.
        let file = file.split(':').next().unwrap_or(file);
        let text = text_named(files, pid, file);
        let Some(text) = text else {
            continue;
        };
        let read = configuration(&text);
        written.extend(settings(&read, file));
        options = options.or(read);
    }
    (options, written)
}

/// The address of its stats server.
pub(super) fn place_of(options: &UwsgiOptions) -> Option<ComponentAddress> {
    // Placeholders are not resolved here.
    let stats = options.stats.as_deref();
    let stats = stats.filter(|stats| !stats.contains(['%', '$']))?;
    let socket = stats.strip_prefix("unix:").unwrap_or(stats);
    if socket.starts_with('/') {
        Some(ComponentAddress::Socket(socket.into()))
    } else {
        address_of(stats)
    }
}

/// The settings of a file, with their places.
pub(super) fn settings(options: &UwsgiOptions, file: &str) -> Vec<FileSetting> {
    let all = [
        ("processes", options.processes),
        ("threads", options.threads),
        ("listen", options.listen),
        ("max-requests", options.max_requests),
        (HARAKIRI, options.harakiri),
    ];
    let settings = all.into_iter().filter_map(|(name, setting)| {
        let (value, line) = setting?;
        Some(FileSetting {
            name,
            of: String::new(),
            value: value as f64,
            file: format!("{file}:{line}"),
        })
    });
    settings.collect()
}
