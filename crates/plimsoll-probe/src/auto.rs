//! Finds parts of a service on this machine that can be asked about themselves, and what their configuration says.
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

use plimsoll_model::part::{Part, PartKind, PartPlace};

use crate::eyes::{Known, Setting};
use crate::files::Files;
use crate::parse::haproxy_configuration;
use admission::Admission;
pub(crate) use texts::{text_beside, text_for, texts_for};

/// Processes that are looked at.
pub(crate) const PROCESSES_MAX: usize = 65_536;
/// Parts that one process may name, and that are asked of all that are found.
const PARTS_OF_ONE_MAX: usize = 32;
const PARTS_MAX: usize = 128;
/// Programs that can be asked, as the kernel knows them.
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

/// A part that was found, and where.
struct Found {
    part: Part,
    known: Known,
    source: String,
}

/// Parts, each with what its configuration says.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// Those that are asked.
    pub(crate) asked: Vec<(Part, Known)>,
    /// Those that are asked once it is seen that they belong to the target.
    pub(crate) later: Vec<(Part, Known)>,
}

/// The parts that are named, and with `auto` those that are found and that `admit` lets through. What is found, and what
/// access is lacking, is noted.
pub(crate) fn parts(
    files: &mut Files,
    named: Vec<Part>,
    auto: bool,
    admit: &mut dyn FnMut(&mut Files, &Part, u32) -> Admission,
) -> Parts {
    let mut parts = Parts::default();
    if named.is_empty() && !auto {
        return parts;
    }
    // Some cannot be found where they tell of themselves, so that they are asked for only where they are not named.
    let kinds: Vec<PartKind> = named.iter().map(|part| part.kind).collect();
    let found = find(files, auto, &kinds);
    for part in named {
        let own = found.iter().find(|found| is_same(&found.part, &part));
        let known = own.map(|found| found.known.clone()).unwrap_or_default();
        // Who runs this has named it: it is asked with his rights.
        let named_by = None;
        parts.asked.push((part, Known { named_by, ..known }));
    }
    let has_found = !found.is_empty();
    for one in found.into_iter().filter(|_| auto) {
        let mut all = parts.asked.iter().chain(&parts.later);
        if !all.any(|(part, _)| is_same(part, &one.part)) {
            add(files, &mut parts, one, admit);
        }
    }
    if auto && parts.asked.is_empty() && !has_found {
        files.tell(
            "found nothing",
            "no nginx, HAProxy, Redis, Valkey, memcached, PostgreSQL, MariaDB, MySQL, pgbouncer, PHP-FPM, gunicorn, uWSGI, JVM or Apache that tells of itself was found on this machine",
        );
    }
    parts
}

/// Adds a part that was found, if it may be asked.
fn add(
    files: &mut Files,
    parts: &mut Parts,
    one: Found,
    admit: &mut dyn FnMut(&mut Files, &Part, u32) -> Admission,
) {
    let part = &one.part;
    let pid = one.known.named_by.unwrap_or_default();
    if parts.asked.len() + parts.later.len() >= PARTS_MAX {
        let text = format!("more than {PARTS_MAX} parts were found: no more of them are watched");
        files.tell("found many", &text);
        return;
    }
    match admit(files, part, pid) {
        Admission::Ask => {
            let text = format!("found and watched: {part} (named by {})", one.source);
            files.tell(&format!("found {part}"), &text);
            parts.asked.push((one.part, one.known));
        }
        Admission::Later => {
            let text = format!(
                "found, and watched once the target is seen to use it: {part} (named by {}); to have it watched at once, name it \
                 under `watch:`",
                one.source
            );
            files.tell(&format!("later {part}"), &text);
            parts.later.push((one.part, one.known));
        }
        Admission::Refused(why) => {
            let text = format!(
                "found, and not watched: {part} (named by {}): {why}; to have it watched all the same, name it under `watch:`",
                one.source
            );
            files.tell(&format!("refused {part} {pid}"), &text);
        }
    }
}

/// Whether two descriptions mean the same part. Names of this machine are taken for its address.
fn is_same(a: &Part, b: &Part) -> bool {
    let local = |host: &str| {
        if ["localhost", "::1", "0.0.0.0"].contains(&host) {
            "127.0.0.1".to_owned()
        } else {
            host.to_owned()
        }
    };
    let place = |part: &Part| match &part.place {
        PartPlace::Socket(path) => match databases::port_of(path) {
            // PostgreSQL's socket has the number of its port.
            Some(port) if part.kind == PartKind::Postgres => {
                ("127.0.0.1".to_owned(), port, String::new())
            }
            _ => (path.display().to_string(), 0, String::new()),
        },
        PartPlace::File(path) => (path.display().to_string(), 0, String::new()),
        PartPlace::Command(command) => (command.clone(), 0, String::new()),
        PartPlace::SocketPage { socket, path } => (socket.display().to_string(), 0, path.clone()),
        PartPlace::Tcp { host, port } => (local(host), *port, String::new()),
        PartPlace::Page { host, port, path }
        | PartPlace::Figures {
            host, port, path, ..
        } => (local(host), *port, path.clone()),
    };
    a.kind == b.kind && place(a) == place(b)
}

fn find(files: &mut Files, auto: bool, named: &[PartKind]) -> Vec<Found> {
    let mut found = Vec::new();
    let pids = files.numbers_in("proc").unwrap_or_default();
    for pid in pids.into_iter().take(PROCESSES_MAX) {
        let before = found.len();
        let comm = files.read(&format!("proc/{pid}/comm"));
        let comm = comm.map_or(String::new(), |comm| comm.trim_end().to_owned());
        let is_fpm = comm.starts_with("php-fpm");
        if !is_fpm && !NAMES.contains(&comm.as_str()) && !servers::knows(&comm) {
            if auto && !named.contains(&PartKind::Go) {
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
                runtimes::puma(files, pid, &words, !auto || named.contains(&PartKind::Puma));
            }
            _ if is_fpm => runtimes::php_fpm(files, pid, &words, auto, &mut found),
            "varnishd" if named.contains(&PartKind::Varnish) => {}
            "mariadbd" | "mysqld" => found.extend(databases::mysql(files, pid, &words)),
            other => servers::find(files, (pid, other), &words, auto, &mut found),
        }
        found.truncate(before + PARTS_OF_ONE_MAX);
        for one in &mut found[before..] {
            one.known.named_by = Some(pid);
            place_in_root(files, pid, &mut one.part.place);
        }
    }
    found
}

/// A path that a process sees in a root of its own becomes one of this machine: the same name may stand for another
/// thing here, and for another one in each root.
fn place_in_root(files: &mut Files, pid: u32, place: &mut PartPlace) {
    let (PartPlace::Socket(path)
    | PartPlace::File(path)
    | PartPlace::SocketPage { socket: path, .. }) = place
    else {
        return;
    };
    let folder = path.parent().unwrap_or(Path::new("/")).to_string_lossy();
    if !path.starts_with("/proc") && files.is_elsewhere(pid, &folder) {
        *path = format!("/proc/{pid}/root{}", path.display()).into();
    }
}

/// The value of an option that stands behind it or is part of its word.
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

fn haproxy(files: &mut Files, pid: u32, words: &[&str], auto: bool, found: &mut Vec<Found>) {
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
        settings.extend(read.limits.into_iter().map(|limit| Setting {
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
            let part = Part {
                kind: PartKind::Haproxy,
                place,
                login: None,
            };
            // Master and workers were started by the same command line.
            if !found.iter().any(|found| found.part == part) {
                let known = Known {
                    settings,
                    ..Known::default()
                };
                found.push(Found {
                    part,
                    known,
                    source: main.to_owned(),
                });
            }
        }
        None if auto && is_read => files.tell(
            &format!("haproxy without socket {main}"),
            &format!(
                "HAProxy (pid {pid}) tells nothing of itself: add to `global` in {main} `stats socket \
                 /run/haproxy/admin.sock mode 660 level user` and reload it"
            ),
        ),
        None if auto => files.tell(
            &format!("haproxy {main}"),
            &format!("HAProxy (pid {pid}): its configuration {main} cannot be read; run as root, or name its socket by `watch: {{ haproxy: unix:PATH }}`"),
        ),
        None => {}
    }
}

/// An address behind `stats socket`.
fn socket_of(written: &str) -> Option<PartPlace> {
    let path = written.strip_prefix("unix@").unwrap_or(written);
    if path.starts_with('/') {
        return Some(PartPlace::Socket(path.into()));
    }
    let address = written
        .strip_prefix("ipv4@")
        .or(written.strip_prefix("ipv6@"))
        .unwrap_or(written);
    address_of(address)
}

/// `host:port` as a listener writes it.
fn address_of(written: &str) -> Option<PartPlace> {
    let (host, port) = written.rsplit_once(':')?;
    let host = match host.trim_start_matches('[').trim_end_matches(']') {
        "" | "*" | "0.0.0.0" => "127.0.0.1",
        "::" | "::*" => "::1",
        host => host,
    };
    Some(PartPlace::Tcp {
        host: host.to_owned(),
        port: port.parse().ok().filter(|&port: &u16| port > 0)?,
    })
}

/// Redis shows where it listens in its command line: `redis-server 127.0.0.1:6379`.
fn redis(pid: u32, words: &[&str]) -> Option<Found> {
    let listens = words.iter().skip(1);
    let place = listens
        .copied()
        .filter(|word| Path::new(word).extension().is_none_or(|end| end != "conf"))
        .find_map(|word| {
            if word.starts_with('/') {
                Some(PartPlace::Socket(word.into()))
            } else {
                address_of(word)
            }
        })?;
    Some(Found {
        part: Part {
            kind: PartKind::Redis,
            place,
            login: None,
        },
        known: Known {
            settings: Vec::new(),
            pid: Some(pid),
            ..Known::default()
        },
        source: format!("the command line of pid {pid}"),
    })
}

fn memcached(pid: u32, words: &[&str]) -> Option<Found> {
    let place = if let Some(path) = option(words, "-s") {
        PartPlace::Socket(path.into())
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
    Some(Found {
        part: Part {
            kind: PartKind::Memcached,
            place,
            login: None,
        },
        known: Known {
            settings: Vec::new(),
            pid: Some(pid),
            ..Known::default()
        },
        source: format!("the command line of pid {pid}"),
    })
}
