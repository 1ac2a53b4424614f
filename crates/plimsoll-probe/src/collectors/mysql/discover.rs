//! Discovers `MariaDB` and `MySQL`.

use plimsoll_model::component::{ComponentAddress, ComponentKind};

use super::parse::socket_of;
use crate::collectors::discovery::{DiscoveredComponent, text_for};
use crate::files::Files;

/// Default listen address of MariaDB and MySQL.
const SOCKET: &str = "/run/mysqld/mysqld.sock";

/// MariaDB or MySQL, by its command line and the file that it names.
pub(crate) fn find(files: &mut Files, pid: u32, words: &[&str]) -> Option<DiscoveredComponent> {
    let argument = |name: &str| words.iter().find_map(|word| word.strip_prefix(name));
    let file = argument("--defaults-file=");
    let written = file.and_then(|file| {
        let text = text_for(files, pid, file)?;
        socket_of(&text).map(str::to_owned)
    });
    let socket = argument("--socket=").map(str::to_owned).or(written);
    let socket = socket.unwrap_or_else(|| SOCKET.to_owned());
    if !socket.starts_with('/') {
        return None;
    }
    let source = file.map_or_else(|| format!("the command line of pid {pid}"), str::to_owned);
    let place = ComponentAddress::Socket(socket.into());
    Some(DiscoveredComponent::of_process(
        ComponentKind::Mysql,
        place,
        pid,
        source,
    ))
}
