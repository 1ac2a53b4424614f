//! What the discoveries of all technologies share: what was found, addresses, and the files that processes name.

mod texts;

use plimsoll_model::component::{Component, ComponentAddress, ComponentKind};

use super::ComponentMetadata;
use crate::files::Files;
pub(crate) use texts::{text_beside, text_for, text_named, texts_for};

/// Processes that are examined at most.
pub(crate) const PROCESSES_MAX: usize = 65_536;
/// Components that one process may name at most.
pub(crate) const COMPONENTS_PER_PROCESS_MAX: usize = 32;

/// A component that was found, and where.
#[derive(Debug)]
pub(crate) struct DiscoveredComponent {
    pub(crate) component: Component,
    pub(crate) known: ComponentMetadata,
    /// What names it.
    pub(crate) source: String,
}

impl DiscoveredComponent {
    /// A component without a login.
    pub(crate) fn new(
        kind: ComponentKind,
        place: ComponentAddress,
        known: ComponentMetadata,
        source: String,
    ) -> Self {
        Self {
            component: Component {
                kind,
                place,
                login: None,
            },
            known,
            source,
        }
    }

    /// A component without settings from its configuration.
    pub(crate) fn of_process(
        kind: ComponentKind,
        place: ComponentAddress,
        pid: u32,
        source: String,
    ) -> Self {
        let known = ComponentMetadata {
            pid: Some(pid),
            ..ComponentMetadata::default()
        };
        Self::new(kind, place, known, source)
    }
}

/// A process whose name is that of a technology.
#[derive(Debug)]
pub(crate) struct ExaminedProcess<'a> {
    pub(crate) files: &'a mut Files,
    pub(crate) pid: u32,
    /// Its name in the kernel.
    pub(crate) comm: &'a str,
    /// Its command line.
    pub(crate) words: &'a [&'a str],
    /// Whether components are discovered: then notes report what is missing to scrape one.
    pub(crate) auto: bool,
    /// Technologies of the components that the user named.
    pub(crate) named: &'a [ComponentKind],
    /// Everything that was found so far, in other processes too.
    pub(crate) found: &'a mut Vec<DiscoveredComponent>,
}

impl ExaminedProcess<'_> {
    pub(super) fn add(&mut self, component: Option<DiscoveredComponent>) {
        self.found.extend(component);
    }

    /// Adds a component of a technology whose workers have the name and the command line of their first process.
    pub(super) fn add_once(&mut self, component: Option<DiscoveredComponent>) {
        let mut found = self.found.iter();
        if !component
            .as_ref()
            .is_some_and(|new| found.any(|known| known.component == new.component))
        {
            self.add(component);
        }
    }

    /// Whether components are discovered, and none of this technology was named.
    pub(super) fn is_unnamed(&self, kind: ComponentKind) -> bool {
        self.auto && !self.named.contains(&kind)
    }
}

/// The value of an option, in the next word or the same one.
pub(crate) fn option<'a>(words: &[&'a str], name: &str) -> Option<&'a str> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.strip_prefix(name) {
            Some("") => return words.next().copied(),
            Some(value) if name.len() == 2 => return Some(value.trim_start_matches('=')),
            _ => {}
        }
    }
    None
}

/// `host:port` as a listener writes it.
pub(crate) fn address_of(written: &str) -> Option<ComponentAddress> {
    let (host, port) = written.rsplit_once(':')?;
    let host = match host.trim_start_matches('[').trim_end_matches(']') {
        "" | "*" | "0.0.0.0" => "127.0.0.1",
        "::" | "::*" => "::1",
        host => host,
    };
    Some(ComponentAddress::Tcp {
        host: host.to_owned(),
        port: port.parse().ok().filter(|&port: &u16| port > 0)?,
    })
}
