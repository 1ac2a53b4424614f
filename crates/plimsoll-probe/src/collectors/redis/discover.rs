//! Discovers Redis and Valkey.

use std::path::Path;

use plimsoll_model::component::{ComponentAddress, ComponentKind};

use crate::collectors::discovery::{DiscoveredComponent, address_of};

/// Redis shows where it listens in its command line: `redis-server 127.0.0.1:6379`.
pub(crate) fn find(pid: u32, words: &[&str]) -> Option<DiscoveredComponent> {
    let listens = words.iter().skip(1);
    let place = listens
        .copied()
        .filter(|word| Path::new(word).extension().is_none_or(|end| end != "conf"))
        .find_map(|word| {
            if word.starts_with('/') {
                Some(ComponentAddress::Socket(word.into()))
            } else {
                address_of(word)
            }
        })?;
    Some(DiscoveredComponent::of_process(
        ComponentKind::Redis,
        place,
        pid,
        format!("the command line of pid {pid}"),
    ))
}
