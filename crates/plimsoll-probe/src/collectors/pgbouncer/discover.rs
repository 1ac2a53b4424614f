//! Discovers pgbouncer.

use std::path::Path;

use plimsoll_model::component::{ComponentAddress, ComponentKind};

use super::parse::configuration;
use crate::collectors::discovery::{DiscoveredComponent, address_of, text_for};
use crate::collectors::{ComponentMetadata, FileSetting};
use crate::files::Files;

/// pgbouncer, by the configuration that its command line names.
pub(crate) fn find(
    files: &mut Files,
    pid: u32,
    words: &[&str],
    auto: bool,
) -> Option<DiscoveredComponent> {
    let is_ini = |word: &&&str| Path::new(word).extension().is_some_and(|end| end == "ini");
    let main = words.iter().find(is_ini)?;
    let Some(text) = text_for(files, pid, main) else {
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
    let numbers = ["default_pool_size", "reserve_pool_size", "max_client_conn"];
    let of_all = numbers.into_iter().filter_map(|name| {
        let (value, line) = read.words.get(name)?;
        Some(FileSetting {
            name,
            of: String::new(),
            value: value.parse().ok()?,
            file: format!("{main}:{line}"),
        })
    });
    let own = read
        .pool_sizes
        .iter()
        .map(|(database, (size, line))| FileSetting {
            name: "pool_size",
            of: database.clone(),
            value: *size as f64,
            file: format!("{main}:{line}"),
        });
    let known = ComponentMetadata {
        settings: of_all.chain(own).collect(),
        pid: Some(pid),
        ..ComponentMetadata::default()
    };
    Some(DiscoveredComponent::new(
        ComponentKind::Pgbouncer,
        place,
        known,
        (*main).to_owned(),
    ))
}
