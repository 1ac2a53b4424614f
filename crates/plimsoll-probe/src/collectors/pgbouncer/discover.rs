//! Discovers pgbouncer.

use std::path::Path;

use plimsoll_model::component::{ComponentAddress, ComponentKind};

use super::parse::{PgbouncerConfig, configuration};
use crate::collectors::discovery::{DiscoveredComponent, address_of, text_named};
use crate::collectors::{ComponentMetadata, FileSetting};
use crate::files::Files;

/// Settings of all databases, and of one.
const NUMBERS: [&str; 4] = [
    "default_pool_size",
    "reserve_pool_size",
    "max_client_conn",
    "max_db_connections",
];
const OF_DATABASE: [(&str, &str); 4] = [
    ("pool_size", "pool_size"),
    // Before 1.24.
    ("reserve_pool", "reserve_pool_size"),
    ("reserve_pool_size", "reserve_pool_size"),
    ("max_db_connections", "max_db_connections"),
];

/// The configuration that a command line names.
pub(super) fn main_of<'w>(words: &[&'w str]) -> Option<&'w str> {
    let is_ini = |word: &&&str| Path::new(word).extension().is_some_and(|end| end == "ini");
    words.iter().find(is_ini).copied()
}

/// pgbouncer, by the configuration that its command line names.
pub(crate) fn find(
    files: &mut Files,
    pid: u32,
    words: &[&str],
    auto: bool,
) -> Option<DiscoveredComponent> {
    let main = main_of(words)?;
    let Some(text) = text_named(files, pid, main) else {
        if auto {
            files.announce(
                &format!("pgbouncer {main}"),
                &format!(
                    "pgbouncer (pid {pid}): its configuration {main} cannot be read; run as root, or name it by `watch: {{ \
                     pgbouncer: pgbouncer://plimsoll:PASSWORD@127.0.0.1:6432 }}`"
                ),
            );
        }
        return None;
    };
    let read = configuration(&text);
    let word_value = |name: &str| read.words.get(name).map(|(value, _)| value.as_str());
    let port = word_value("listen_port").unwrap_or("6432");
    let host = word_value("listen_addr")
        .unwrap_or_default()
        .split(',')
        .next()
        .unwrap_or_default();
    let place = match word_value("unix_socket_dir").filter(|folder| folder.starts_with('/')) {
        Some(folder) if host.is_empty() => {
            ComponentAddress::Socket(format!("{folder}/.s.PGSQL.{port}").into())
        }
        _ => address_of(&format!("{}:{port}", host.trim()))?,
    };
    let known = ComponentMetadata {
        settings: settings_of(&read, main),
        pid: Some(pid),
        ..ComponentMetadata::default()
    };
    Some(DiscoveredComponent::new(
        ComponentKind::Pgbouncer,
        place,
        known,
        main.to_owned(),
    ))
}

/// The numbers that a configuration contains.
fn settings_of(read: &PgbouncerConfig, main: &str) -> Vec<FileSetting> {
    let of_all = NUMBERS.into_iter().filter_map(|name| {
        let (value, line) = read.words.get(name)?;
        let value: u32 = value.parse().ok()?;
        let file = format!("{main}:{line}");
        Some(FileSetting::number(name, f64::from(value), file))
    });
    let own = read.databases.iter().flat_map(|database| {
        OF_DATABASE.into_iter().filter_map(move |(word, name)| {
            let value: u32 = database.words.get(word)?.parse().ok()?;
            let file = format!("{main}:{}", database.line);
            Some(FileSetting {
                of: database.name.clone(),
                ..FileSetting::number(name, f64::from(value), file)
            })
        })
    });
    of_all.chain(own).collect()
}
