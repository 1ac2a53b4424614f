//! Discovers `HAProxy`, by the configuration that its command line names.

use plimsoll_model::component::{Component, ComponentAddress, ComponentKind};

use super::configuration::{self, HaproxyConfig, Limit};
use crate::collectors::discovery::{DiscoveredComponent, ExaminedProcess, address_of, text_named};
use crate::collectors::{ComponentMetadata, FileSetting};

/// `HAProxy`, by its stats socket.
pub(super) fn find(process: &mut ExaminedProcess<'_>) {
    let (pid, words, auto) = (process.pid, process.words, process.auto);
    let (files, found) = (&mut *process.files, &mut *process.found);
    let paths = paths_of(words);
    let (mut sockets, mut settings, mut is_read) = (Vec::new(), Vec::new(), false);
    for path in &paths {
        let Some(text) = text_named(files, pid, path) else {
            continue;
        };
        is_read = true;
        let read = configuration::read(&text);
        sockets.extend(read.sockets.iter().cloned());
        settings.extend(settings_of(path, read));
    }
    let main = paths.first().copied().unwrap_or_default();
    let place = sockets.iter().find_map(|socket| socket_of(socket));
    match place {
        Some(place) => {
            let component = Component {
                kind: ComponentKind::Haproxy,
                place,
                login: None,
            };
            // Master and workers were started by the same command line.
            if !found.iter().any(|found| found.component == component) {
                let known = ComponentMetadata {
                    settings,
                    ..ComponentMetadata::default()
                };
                found.push(DiscoveredComponent {
                    component,
                    known,
                    source: main.to_owned(),
                });
            }
        }
        None if auto && is_read => files.announce(
            &format!("haproxy without socket {main}"),
            &format!(
                "HAProxy (pid {pid}) has no stats socket: add to `global` in {main} `stats socket \
                 /run/haproxy/admin.sock mode 660 level user` and reload it"
            ),
        ),
        None if auto => files.announce(
            &format!("haproxy {main}"),
            &format!(
                "HAProxy (pid {pid}): its configuration {main} cannot be read; {}, or name its socket by `watch: {{ \
                 haproxy: unix:PATH }}`",
                // It may have left the folder in which it started.
                if main.starts_with('/') { "run as root" } else { "start it with an absolute path" }
            ),
        ),
        None => {}
    }
}

/// The configuration files that a command line names.
pub(super) fn paths_of<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let named = words.windows(2).filter(|two| two[0] == "-f");
    let mut paths: Vec<&str> = named.map(|two| two[1]).collect();
    if paths.is_empty() {
        paths.push("/etc/haproxy/haproxy.cfg");
    }
    paths
}

/// The limits of a file.
pub(super) fn settings_of(path: &str, read: HaproxyConfig) -> Vec<FileSetting> {
    let setting = |name: &'static str, limit: Limit| FileSetting {
        name,
        of: limit.of,
        value: limit.value as f64,
        file: format!("{path}:{}", limit.line),
    };
    let threads = read.threads.into_iter();
    let threads = threads.map(|limit| setting("nbthread", limit));
    let limits = read.limits.into_iter();
    let limits = limits.map(|limit| setting("maxconn", limit));
    limits.chain(threads).collect()
}

/// An address behind `stats socket`.
pub(super) fn socket_of(written: &str) -> Option<ComponentAddress> {
    let path = written.strip_prefix("unix@").unwrap_or(written);
    if path.starts_with('/') {
        return Some(ComponentAddress::Socket(path.into()));
    }
    let address = written
        .strip_prefix("ipv4@")
        .or(written.strip_prefix("ipv6@"))
        .unwrap_or(written);
    address_of(address)
}
