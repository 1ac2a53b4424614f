//! Discovers components of a service on this machine that can be scraped, and their configuration.
//!
//! Processes are known by name and command line. Configuration files that these name are parsed; nothing that is found
//! is executed.

pub(crate) mod admission;
#[cfg(test)]
mod tests;

use std::path::Path;

use plimsoll_model::component::{Component, ComponentAddress, ComponentKind};

use crate::collectors::ComponentMetadata;
use crate::collectors::discovery::{
    COMPONENTS_PER_PROCESS_MAX, DiscoveredComponent, ExaminedProcess, PROCESSES_MAX,
};
use crate::collectors::integration::integration;
use crate::files::Files;
use crate::program::{technology_of, words_of};
use admission::Admission;

/// Components that are scraped in all, at most.
const COMPONENTS_MAX: usize = 128;
/// Components, each with settings from its configuration.
#[derive(Debug, Default)]
pub(crate) struct ComponentSet {
    /// Those that are scraped.
    pub(crate) watched: Vec<(Component, ComponentMetadata)>,
    /// Those that are scraped once they are observed to belong to the target.
    pub(crate) later: Vec<(Component, ComponentMetadata)>,
}

/// The configured components, and with `auto` those that are found and that `admit` accepts. Notes report what is
/// found, and which access is missing.
pub(crate) fn discover(
    files: &mut Files,
    named: Vec<Component>,
    auto: bool,
    admit: &mut dyn FnMut(&mut Files, &Component, u32) -> Admission,
) -> ComponentSet {
    let mut components = ComponentSet::default();
    if named.is_empty() && !auto {
        return components;
    }
    // The metrics address of some cannot be found; their notes are made only where they are not configured.
    let kinds: Vec<ComponentKind> = named.iter().map(|component| component.kind).collect();
    let found = find(files, auto, &kinds);
    for component in named {
        let own = found
            .iter()
            .find(|found| is_same(&found.component, &component));
        let known = own.map(|found| found.known.clone()).unwrap_or_default();
        // It is configured by the user of this process: it is scraped with that user's rights.
        let named_by = None;
        components
            .watched
            .push((component, ComponentMetadata { named_by, ..known }));
    }
    let has_found = !found.is_empty();
    for candidate in found.into_iter().filter(|_| auto) {
        let mut all = components.watched.iter().chain(&components.later);
        if !all.any(|(component, _)| is_same(component, &candidate.component)) {
            add(files, &mut components, candidate, admit);
        }
    }
    if auto && components.watched.is_empty() && !has_found {
        files.announce("found nothing", &found_nothing());
    }
    components
}

/// What is said where no component was found: what would be, by its keys in `watch:`.
fn found_nothing() -> String {
    let kinds = ComponentKind::ALL.iter();
    let kinds = kinds.filter(|kind| kind.has_process_names());
    let words: Vec<&str> = kinds.flat_map(|kind| kind.words()).copied().collect();
    format!(
        "no component with readable metrics was found on this machine; known by their processes: {}",
        words.join(", ")
    )
}

/// Adds a component that was found, if it may be scraped.
fn add(
    files: &mut Files,
    components: &mut ComponentSet,
    candidate: DiscoveredComponent,
    admit: &mut dyn FnMut(&mut Files, &Component, u32) -> Admission,
) {
    let component = &candidate.component;
    let pid = candidate.known.named_by.unwrap_or_default();
    if components.watched.len() + components.later.len() >= COMPONENTS_MAX {
        let text =
            format!("more than {COMPONENTS_MAX} components were found: the rest are not watched");
        files.announce("found many", &text);
        return;
    }
    match admit(files, component, pid) {
        Admission::Now => {
            let text = format!(
                "found and watched: {component} (named by {})",
                candidate.source
            );
            files.announce(&format!("found {component}"), &text);
            components
                .watched
                .push((candidate.component, candidate.known));
        }
        Admission::Later => {
            let text = format!(
                "found, watched once the target is observed to use it: {component} (named by {}); to watch it \
                 immediately, name it under `watch:`",
                candidate.source
            );
            files.announce(&format!("later {component}"), &text);
            components
                .later
                .push((candidate.component, candidate.known));
        }
        Admission::Refused(why) => {
            let text = format!(
                "found, not watched: {component} (named by {}): {why}; to watch it anyway, name it under `watch:`",
                candidate.source
            );
            files.announce(&format!("refused {component} {pid}"), &text);
        }
    }
}

/// Whether two descriptions mean the same component. Names of this machine count as its address.
fn is_same(a: &Component, b: &Component) -> bool {
    let local = |host: &str| {
        if ["localhost", "::1", "0.0.0.0"].contains(&host) {
            "127.0.0.1".to_owned()
        } else {
            host.to_owned()
        }
    };
    let place = |component: &Component| match &component.place {
        ComponentAddress::Socket(path) => match integration(component.kind).port_of(path) {
            Some(port) => ("127.0.0.1".to_owned(), port, String::new()),
            None => (path.display().to_string(), 0, String::new()),
        },
        ComponentAddress::File(path) => (path.display().to_string(), 0, String::new()),
        ComponentAddress::Command(command) => (command.clone(), 0, String::new()),
        ComponentAddress::SocketPage { socket, path } => {
            (socket.display().to_string(), 0, path.clone())
        }
        ComponentAddress::Tcp { host, port } => (local(host), *port, String::new()),
        ComponentAddress::Page { host, port, path }
        | ComponentAddress::Figures {
            host, port, path, ..
        }
        | ComponentAddress::Machine {
            host, port, path, ..
        } => (local(host), *port, path.clone()),
    };
    a.kind == b.kind && place(a) == place(b)
}

fn find(files: &mut Files, auto: bool, named: &[ComponentKind]) -> Vec<DiscoveredComponent> {
    let mut found = Vec::new();
    let pids = files.numbers_in("proc").unwrap_or_default();
    for pid in pids.into_iter().take(PROCESSES_MAX) {
        let before = found.len();
        let comm = files.read(&format!("proc/{pid}/comm"));
        let comm = comm.map_or(String::new(), |comm| comm.trim_end().to_owned());
        let kind = technology_of(files, pid, &comm);
        let line = if kind.is_some() {
            files.command_line(pid)
        } else {
            String::new()
        };
        let words = words_of(&line);
        // Programs in Go have any name.
        let kind = kind.unwrap_or(ComponentKind::Go);
        integration(kind).discover(&mut ExaminedProcess {
            files: &mut *files,
            pid,
            comm: &comm,
            words: &words,
            auto,
            named,
            found: &mut found,
        });
        found.truncate(before + COMPONENTS_PER_PROCESS_MAX);
        for candidate in &mut found[before..] {
            candidate.known.named_by = Some(pid);
            place_in_root(files, pid, &mut candidate.component.place);
        }
    }
    found
}

/// Translates a path in a process's own root to a path of this machine: the same path may name another file here,
/// and another one in each root.
fn place_in_root(files: &mut Files, pid: u32, place: &mut ComponentAddress) {
    let (ComponentAddress::Socket(path)
    | ComponentAddress::File(path)
    | ComponentAddress::SocketPage { socket: path, .. }) = place
    else {
        return;
    };
    let folder = path.parent().unwrap_or(Path::new("/")).to_string_lossy();
    if !path.starts_with("/proc") && files.is_elsewhere(pid, &folder) {
        *path = format!("/proc/{pid}/root{}", path.display()).into();
    }
}
