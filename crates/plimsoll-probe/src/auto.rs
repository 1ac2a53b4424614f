//! Discovers components of a service on this machine that can be scraped, and their configuration.
//!
//! Processes are known by name and command line. Configuration files that these name are parsed; nothing that is found
//! is executed.

pub(crate) mod admission;
mod databases;
mod engines;
mod nginx;
mod proxy_logs;
mod runtimes;
mod servers;
mod texts;

use std::path::Path;

use plimsoll_model::component::{Component, ComponentAddress, ComponentKind};

use crate::collectors::{ComponentMetadata, FileSetting};
use crate::files::Files;
use crate::parse::haproxy_configuration;
use admission::Admission;
pub(crate) use texts::{text_beside, text_for, texts_for};

/// Processes that are examined at most.
pub(crate) const PROCESSES_MAX: usize = 65_536;
/// Components that one process may name, and that are scraped in all, at most.
const COMPONENTS_PER_PROCESS_MAX: usize = 32;
const COMPONENTS_MAX: usize = 128;
/// Programs that can be scraped, by their name in the kernel.
const NAMES: [&str; 11] = [
    "nginx",
    "haproxy",
    "redis-server",
    "valkey-server",
    "memcached",
    "postgres",
    "mariadbd",
    "mysqld",
    "node",
    "puma",
    "ruby",
];

/// A component that was found, and where.
struct DiscoveredComponent {
    component: Component,
    known: ComponentMetadata,
    source: String,
}

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
        files.announce(
            "found nothing",
            "no nginx, HAProxy, Redis, Valkey, memcached, PostgreSQL, MariaDB, MySQL, pgbouncer, PHP-FPM, gunicorn, \
            uWSGI, JVM or Apache with readable metrics was found on this machine",
        );
    }
    components
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
        ComponentAddress::Socket(path) => match databases::port_of(path) {
            // PostgreSQL's socket has the number of its port.
            Some(port) if component.kind == ComponentKind::Postgres => {
                ("127.0.0.1".to_owned(), port, String::new())
            }
            _ => (path.display().to_string(), 0, String::new()),
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
        let is_fpm = comm.starts_with("php-fpm");
        if !is_fpm && !NAMES.contains(&comm.as_str()) && !servers::knows(&comm) {
            if auto && !named.contains(&ComponentKind::Go) {
                engines::go(files, pid, &comm);
            }
            continue;
        }
        let line = files.command_line(pid);
        let words: Vec<&str> = line
            .split(['\0', ' '])
            .filter(|word| !word.is_empty())
            .collect();
        match comm.as_str() {
            "nginx" => nginx::nginx(files, pid, &words, auto, &mut found),
            "haproxy" => haproxy(files, pid, &words, auto, &mut found),
            "memcached" => found.extend(memcached(pid, &words)),
            "redis-server" | "valkey-server" => found.extend(redis(pid, &words)),
            "postgres" => found.extend(databases::postgres(files, pid, &words, auto)),
            "node" => found.extend(runtimes::node(files, pid, auto)),
            "puma" | "ruby" => {
                runtimes::puma(
                    files,
                    pid,
                    &words,
                    !auto || named.contains(&ComponentKind::Puma),
                );
            }
            _ if is_fpm => runtimes::php_fpm(files, pid, &words, auto, &mut found),
            "varnishd" if named.contains(&ComponentKind::Varnish) => {}
            "mariadbd" | "mysqld" => found.extend(databases::mysql(files, pid, &words)),
            other => servers::find(files, (pid, other), &words, auto, &mut found),
        }
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

fn haproxy(
    files: &mut Files,
    pid: u32,
    words: &[&str],
    auto: bool,
    found: &mut Vec<DiscoveredComponent>,
) {
    let named = words
        .windows(2)
        .filter(|two| two[0] == "-f")
        .map(|two| two[1]);
    let mut paths: Vec<&str> = named.collect();
    if paths.is_empty() {
        paths.push("/etc/haproxy/haproxy.cfg");
    }
    let (mut sockets, mut settings, mut is_read) = (Vec::new(), Vec::new(), false);
    for path in &paths {
        let Some(text) = text_for(files, pid, path) else {
            continue;
        };
        is_read = true;
        let read = haproxy_configuration::read(&text);
        sockets.extend(read.sockets);
        settings.extend(read.limits.into_iter().map(|limit| FileSetting {
            name: "maxconn",
            of: limit.of,
            value: limit.value as f64,
            file: format!("{path}:{}", limit.line),
        }));
    }
    let main = paths.first().copied().unwrap_or_default();
    let place = sockets.iter().find_map(|socket| socket_of(socket));
    match place {
        Some(place) => {
            let component = Component {
                kind: ComponentKind::Haproxy,
                place,
                login: None,
            };
            // Master and workers were started by the same command line.
            if !found.iter().any(|found| found.component == component) {
                let known = ComponentMetadata {
                    settings,
                    ..ComponentMetadata::default()
                };
                found.push(DiscoveredComponent {
                    component,
                    known,
                    source: main.to_owned(),
                });
            }
        }
        None if auto && is_read => files.announce(
            &format!("haproxy without socket {main}"),
            &format!(
                "HAProxy (pid {pid}) has no stats socket: add to `global` in {main} `stats socket \
                 /run/haproxy/admin.sock mode 660 level user` and reload it"
            ),
        ),
        None if auto => files.announce(
            &format!("haproxy {main}"),
            &format!("HAProxy (pid {pid}): its configuration {main} cannot be read; run as root, or name its socket by `watch: {{ haproxy: unix:PATH }}`"),
        ),
        None => {}
    }
}

/// An address behind `stats socket`.
fn socket_of(written: &str) -> Option<ComponentAddress> {
    let path = written.strip_prefix("unix@").unwrap_or(written);
    if path.starts_with('/') {
        return Some(ComponentAddress::Socket(path.into()));
    }
    let address = written
        .strip_prefix("ipv4@")
        .or(written.strip_prefix("ipv6@"))
        .unwrap_or(written);
    address_of(address)
}

/// `host:port` as a listener writes it.
fn address_of(written: &str) -> Option<ComponentAddress> {
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

/// Redis shows where it listens in its command line: `redis-server 127.0.0.1:6379`.
fn redis(pid: u32, words: &[&str]) -> Option<DiscoveredComponent> {
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
    Some(DiscoveredComponent {
        component: Component {
            kind: ComponentKind::Redis,
            place,
            login: None,
        },
        known: ComponentMetadata {
            settings: Vec::new(),
            pid: Some(pid),
            ..ComponentMetadata::default()
        },
        source: format!("the command line of pid {pid}"),
    })
}

fn memcached(pid: u32, words: &[&str]) -> Option<DiscoveredComponent> {
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
    Some(DiscoveredComponent {
        component: Component {
            kind: ComponentKind::Memcached,
            place,
            login: None,
        },
        known: ComponentMetadata {
            settings: Vec::new(),
            pid: Some(pid),
            ..ComponentMetadata::default()
        },
        source: format!("the command line of pid {pid}"),
    })
}
