//! Discovers `MongoDB`.

use plimsoll_model::component::{ComponentAddress, ComponentKind};

use crate::collectors::discovery::{DiscoveredComponent, text_for};
use crate::files::Files;

/// MongoDB, by its command line or the file that this names: of it, only the line of its port is read.
pub(crate) fn find(files: &mut Files, pid: u32, words: &[&str]) -> DiscoveredComponent {
    let argument = |names: &[&str]| {
        words.iter().enumerate().find_map(|(at, word)| {
            let (name, value) = word.split_once('=').unwrap_or((*word, ""));
            let value = if value.is_empty() {
                words.get(at + 1).copied()?
            } else {
                value
            };
            names.contains(&name).then(|| value.to_owned())
        })
    };
    let file = argument(&["--config", "-f"]);
    let port = argument(&["--port"]).or_else(|| {
        let text = text_for(files, pid, file.as_deref()?)?;
        let port = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("port:"))?;
        Some(port.trim().to_owned())
    });
    let place = ComponentAddress::Tcp {
        host: "127.0.0.1".to_owned(),
        port: port.and_then(|port| port.parse().ok()).unwrap_or(27017),
    };
    let source = file.unwrap_or_else(|| format!("the command line of pid {pid}"));
    DiscoveredComponent::of_process(ComponentKind::Mongo, place, pid, source)
}
