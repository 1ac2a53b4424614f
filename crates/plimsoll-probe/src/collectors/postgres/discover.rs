//! Discovers `PostgreSQL`.

use std::path::Path;

use plimsoll_model::component::{ComponentAddress, ComponentKind};

use crate::collectors::discovery::{DiscoveredComponent, option, text_for};
use crate::files::Files;

/// The port in the name of PostgreSQL's socket.
pub(crate) fn port_of(socket: &Path) -> Option<u16> {
    let name = socket.file_name()?.to_str()?;
    name.strip_prefix(".s.PGSQL.")?.parse().ok()
}

/// PostgreSQL, by the file in its data directory that holds its listen address.
pub(crate) fn find(
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
                     or name it by `watch: {{ postgres: postgres://plimsoll:PASSWORD@127.0.0.1:5432 }}`"
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
    Some(DiscoveredComponent::of_process(
        ComponentKind::Postgres,
        place,
        pid,
        path,
    ))
}
