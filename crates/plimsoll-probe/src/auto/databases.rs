//! Databases on this machine: their listen addresses, from their files.

use std::path::Path;

use plimsoll_model::component::{Component, ComponentAddress, ComponentKind};

use super::{DiscoveredComponent, option, text_for};
use crate::collectors::ComponentMetadata;
use crate::files::Files;
use crate::parse::mysql::socket_of;

/// Default listen address of MariaDB and MySQL.
const MYSQL_SOCKET: &str = "/run/mysqld/mysqld.sock";

/// The port in the name of PostgreSQL's socket.
pub(super) fn port_of(socket: &Path) -> Option<u16> {
    let name = socket.file_name()?.to_str()?;
    name.strip_prefix(".s.PGSQL.")?.parse().ok()
}

/// PostgreSQL, by the file in its data directory that holds its listen address.
pub(super) fn postgres(
    files: &mut Files,
    pid: u32,
    words: &[&str],
    auto: bool,
) -> Option<DiscoveredComponent> {
    // Its children have the server's name and a title of their activity.
    if words.first()?.starts_with("postgres:") {
        return None;
    }
    let data = option(words, "-D").map(str::to_owned).or_else(|| {
        let main = words
            .iter()
            .find_map(|word| word.strip_prefix("config_file="))?;
        let text = text_for(files, pid, main)?;
        let mut lines = text.lines();
        let line = lines.find(|line| line.trim_start().starts_with("data_directory"))?;
        Some(line.split('\'').nth(1)?.to_owned())
    })?;
    let path = format!("{}/postmaster.pid", data.trim_end_matches('/'));
    let Some(text) = text_for(files, pid, &path) else {
        if auto {
            files.announce(
                &format!("postgres {path}"),
                &format!(
                    "PostgreSQL (pid {pid}): {path}, which holds its listen address, cannot be read; run as root, \
                     or name it by `watch: {{ postgres: postgres://eye:PASSWORD@127.0.0.1:5432 }}`"
                ),
            );
        }
        return None;
    };
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let port: u16 = lines.get(3)?.parse().ok()?;
    let place = match lines.get(4).filter(|folder| folder.starts_with('/')) {
        Some(folder) => ComponentAddress::Socket(format!("{folder}/.s.PGSQL.{port}").into()),
        None => ComponentAddress::Tcp {
            host: match lines.get(5).copied().unwrap_or_default() {
                "" | "*" | "0.0.0.0" => "127.0.0.1".to_owned(),
                host => host.to_owned(),
            },
            port,
        },
    };
    Some(found(ComponentKind::Postgres, place, pid, path))
}

/// MariaDB or MySQL, by its command line and the file that it names.
pub(super) fn mysql(files: &mut Files, pid: u32, words: &[&str]) -> Option<DiscoveredComponent> {
    let argument = |name: &str| words.iter().find_map(|word| word.strip_prefix(name));
    let file = argument("--defaults-file=");
    let written = file.and_then(|file| {
        let text = text_for(files, pid, file)?;
        socket_of(&text).map(str::to_owned)
    });
    let socket = argument("--socket=").map(str::to_owned).or(written);
    let socket = socket.unwrap_or_else(|| MYSQL_SOCKET.to_owned());
    if !socket.starts_with('/') {
        return None;
    }
    let source = file.map_or_else(|| format!("the command line of pid {pid}"), str::to_owned);
    let place = ComponentAddress::Socket(socket.into());
    Some(found(ComponentKind::Mysql, place, pid, source))
}

fn found(
    kind: ComponentKind,
    place: ComponentAddress,
    pid: u32,
    source: String,
) -> DiscoveredComponent {
    DiscoveredComponent {
        component: Component {
            kind,
            place,
            login: None,
        },
        known: ComponentMetadata {
            settings: Vec::new(),
            pid: Some(pid),
            ..ComponentMetadata::default()
        },
        source,
    }
}
