//! Discovers memcached.

use plimsoll_model::component::{ComponentAddress, ComponentKind};

use crate::collectors::discovery::{DiscoveredComponent, address_of, option};

/// memcached, by its command line.
pub(crate) fn find(pid: u32, words: &[&str]) -> Option<DiscoveredComponent> {
    let place = if let Some(path) = option(words, "-s") {
        ComponentAddress::Socket(path.into())
    } else {
        let port = option(words, "-p").unwrap_or("11211");
        let host = option(words, "-l").unwrap_or("127.0.0.1");
        let host = host.split(',').next().unwrap_or(host);
        let is_whole = host
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.parse::<u16>().is_ok())
            && !host.ends_with(']')
            && host.matches(':').count() == 1;
        let whole = if is_whole {
            host.to_owned()
        } else {
            format!("{host}:{port}")
        };
        address_of(&whole)?
    };
    Some(DiscoveredComponent::of_process(
        ComponentKind::Memcached,
        place,
        pid,
        format!("the command line of pid {pid}"),
    ))
}
