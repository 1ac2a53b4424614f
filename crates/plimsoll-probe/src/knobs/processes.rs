//! Servers of known technologies that run here, and where they listen.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use plimsoll_model::component::ComponentKind;
use plimsoll_model::redact;
use rustix::process::geteuid;

use super::catalogue;
use crate::collectors::discovery::PROCESSES_MAX;
use crate::files::Files;
use crate::kernel_files;
use crate::parse::process;
use crate::parse::socket::{LISTEN, socket_link, socket_path, tcp_line};
use crate::program::{technology_of, words_of};
use crate::untrusted::Credentials;
use crate::untrusted::credentials::is_service;

/// Longest command line by which a process is found, bytes.
const LINE_LEN_MAX: usize = 512;
/// Servers that are examined at most.
const SERVERS_MAX: usize = 256;

/// The first process of a server: its workers are not listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerProcess {
    pub(super) kind: ComponentKind,
    pub(super) pid: u32,
    /// Its command line, or the title that it gave itself.
    pub(super) words: Vec<String>,
    /// Whether that is a title.
    pub(super) has_title: bool,
    /// Its executable, where that can be read and belongs to a process of root or of this user: a draft has commands with
    /// it.
    pub(super) executable: Option<String>,
    /// Its user, where that is known.
    pub(super) owner: Option<u32>,
    /// The folder in which it runs.
    pub(super) folder: Option<String>,
    /// What finds it by its command line or title, as `pkill -f` takes it; `None` where that finds others too, or has secrets.
    pub(super) pattern: Option<String>,
    /// Its processes.
    pub(super) workers: Vec<u32>,
}

impl ServerProcess {
    /// Whether it is a service of the machine, or of this user: not of another person.
    pub(super) fn is_service(&self) -> bool {
        self.owner.is_none_or(is_service)
    }

    pub(super) fn words(&self) -> Vec<&str> {
        self.words.iter().map(String::as_str).collect()
    }

    /// The value of a flag of its command line: in the next word, or behind `=`.
    pub(super) fn flag(&self, names: &[&str]) -> Option<&str> {
        let (word, at) = self.flag_at(names)?;
        self.words.get(word)?.get(at..)
    }

    /// The index of the word with the value of a flag, and where the value begins in it.
    pub(super) fn flag_at(&self, names: &[&str]) -> Option<(usize, usize)> {
        for (index, word) in self.words.iter().enumerate() {
            if names.contains(&word.as_str()) {
                return Some((index + 1, 0));
            }
            let value = names.iter().find_map(|name| {
                let rest = word.strip_prefix(name)?;
                let is_short = name.len() == 2 && !word.starts_with("--");
                rest.strip_prefix('=').or(is_short.then_some(rest))
            });
            if let Some(value) = value {
                return Some((index, word.len() - value.len()));
            }
        }
        None
    }

    /// A path as it names one: relative to the folder in which it runs.
    pub(super) fn path(&self, path: &str) -> Option<String> {
        if path.starts_with('/') {
            return Some(path.to_owned());
        }
        Some(
            Path::new(self.folder.as_ref()?)
                .join(path)
                .display()
                .to_string(),
        )
    }
}

/// Whether a word is the name of a file with this ending.
pub(super) fn has_extension(word: &str, extension: &str) -> bool {
    Path::new(word)
        .extension()
        .is_some_and(|own| own == extension)
}

/// The servers whose settings are in the catalogue.
pub(super) fn servers(files: &mut Files) -> Vec<ServerProcess> {
    let mut all: BTreeMap<u32, (ComponentKind, u32)> = BTreeMap::new();
    let pids = files.numbers_in("proc").unwrap_or_default();
    for pid in pids.into_iter().take(PROCESSES_MAX) {
        let stat = files.read(&format!("proc/{pid}/stat")).ok();
        let Some(stat) = stat.and_then(process::stat) else {
            continue;
        };
        let kind = technology_of(files, pid, &stat.comm);
        if let Some(kind) = kind.filter(|kind| is_known(*kind)) {
            all.insert(pid, (kind, stat.parent));
        }
    }
    let is_first =
        |kind: ComponentKind, parent: u32| all.get(&parent).is_none_or(|(above, _)| *above != kind);
    let first = all
        .iter()
        .filter(|(_, (kind, parent))| is_first(*kind, *parent));
    let mut servers: Vec<ServerProcess> = first
        .take(SERVERS_MAX)
        .map(|(&pid, &(kind, _))| {
            let owner = owner_of(files, pid);
            let line = files.command_line(pid);
            let is_ours = owner.is_none_or(|owner| owner == 0 || owner == geteuid().as_raw());
            ServerProcess {
                kind,
                pid,
                words: words_of(&line).into_iter().map(str::to_owned).collect(),
                has_title: is_title(&line),
                executable: link_of(files, pid, "exe").filter(|_| is_ours),
                owner,
                folder: link_of(files, pid, "cwd"),
                pattern: pattern_of(kind, &line),
                workers: descendants(&all, pid, kind),
            }
        })
        .collect();
    let patterns: Vec<Option<String>> = servers.iter().map(|it| it.pattern.clone()).collect();
    for server in &mut servers {
        let same = patterns.iter().filter(|other| **other == server.pattern);
        if same.count() > 1 {
            server.pattern = None;
        }
    }
    servers
}

/// What finds a process with this command line or title, and those that it forks. Its own is the oldest of them.
fn pattern_of(kind: ComponentKind, line: &str) -> Option<String> {
    let words = words_of(line);
    let text = line.replace('\0', " ");
    let text = text.trim_end();
    let is_plain = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
    let is_short = (1..=LINE_LEN_MAX).contains(&text.len());
    let has_secret = redact::command(words.iter().copied()) != words;
    if !is_short || has_secret || !text.bytes().all(is_plain) {
        return None;
    }
    if kind == ComponentKind::Haproxy {
        // A reload puts further arguments before the others.
        let program = escaped(words.first()?);
        let named = words.windows(2).find(|two| two[0] == "-f")?;
        return Some(format!("^{program}( .*)? -f {}( |$)", escaped(named[1])));
    }
    let end = if is_title(line) { "" } else { "$" };
    Some(format!("^{}{end}", escaped(text)))
}

/// A text as an extended regular expression.
fn escaped(text: &str) -> String {
    let mut pattern = String::new();
    for character in text.chars() {
        if "\\.[]{}()*+?^$|".contains(character) {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

fn owner_of(files: &mut Files, pid: u32) -> Option<u32> {
    let status = files.read(&format!("proc/{pid}/status")).ok()?;
    Some(Credentials::from_status(status)?.uid)
}

fn is_known(kind: ComponentKind) -> bool {
    catalogue::all().iter().any(|knob| knob.kind == Some(kind))
}

/// Whether a program wrote a title over its command line: words that spaces separate.
fn is_title(line: &str) -> bool {
    line.split('\0')
        .next()
        .is_some_and(|first| first.contains(' '))
}

fn link_of(files: &Files, pid: u32, name: &str) -> Option<String> {
    let target = kernel_files::link(&files.path(&format!("proc/{pid}/{name}")))?;
    (target.starts_with('/') && !target.ends_with(" (deleted)")).then_some(target)
}

/// Processes below a server, of its technology.
fn descendants(
    all: &BTreeMap<u32, (ComponentKind, u32)>,
    pid: u32,
    kind: ComponentKind,
) -> Vec<u32> {
    let mut family = BTreeSet::from([pid]);
    loop {
        let before = family.len();
        for (&child, (own, parent)) in all {
            if *own == kind && family.contains(parent) {
                family.insert(child);
            }
        }
        if family.len() == before {
            break;
        }
    }
    family.remove(&pid);
    family.into_iter().collect()
}

/// Which sockets listen where.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    ports: BTreeMap<u64, u16>,
    paths: BTreeMap<u64, String>,
}

impl Listeners {
    pub(super) fn read(files: &mut Files) -> Self {
        let mut listeners = Self::default();
        for table in ["tcp", "tcp6"] {
            let text = files.read(&format!("proc/net/{table}"));
            for socket in text.unwrap_or_default().lines().filter_map(tcp_line) {
                if socket.state == LISTEN {
                    listeners.ports.insert(socket.inode, socket.local.port());
                }
            }
        }
        for line in files.read("proc/net/unix").unwrap_or_default().lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let (Some(inode), Some(path)) = (words.get(6), words.get(7))
                && let Ok(inode) = inode.parse()
            {
                listeners.paths.insert(inode, socket_path(path));
            }
        }
        listeners
    }

    /// Whether a server listens at one of the addresses: `:8000`, `/run/app.sock`.
    pub(super) fn is_one_of(
        &self,
        files: &Files,
        server: &ServerProcess,
        upstreams: &BTreeSet<String>,
    ) -> bool {
        let known = |place: &String| upstreams.contains(place);
        !upstreams.is_empty() && self.places_of(files, server).iter().any(known)
    }

    /// Whether it is known where a server listens: its sockets may belong to another user.
    pub(super) fn has_any_of(&self, files: &Files, server: &ServerProcess) -> bool {
        !self.places_of(files, server).is_empty()
    }

    fn places_of(&self, files: &Files, server: &ServerProcess) -> Vec<String> {
        let Ok(links) = kernel_files::links(&files.path(&format!("proc/{}/fd", server.pid))) else {
            return Vec::new();
        };
        let inodes = links.filter_map(|link| socket_link(&link));
        let places = inodes.filter_map(|inode| {
            let port = self.ports.get(&inode).map(|port| format!(":{port}"));
            port.or_else(|| self.paths.get(&inode).cloned())
        });
        places.collect()
    }
}

/// An address of an upstream as [`Listeners`] compares it: the port of one on this machine, or a socket.
pub(super) fn upstream(written: &str) -> Option<String> {
    let is_path = written.starts_with('/');
    let socket = written.split_once("unix:").map(|(_, path)| path);
    if let Some(path) = socket.or(is_path.then_some(written)) {
        // nginx puts a URI behind the socket, Apache a `|`.
        let path = path.split([':', '|']).next()?;
        return path.starts_with('/').then(|| socket_path(path));
    }
    let written = written.split_once("://").map_or(written, |(_, rest)| rest);
    let authority = written.split(['/', '?']).next()?;
    let (host, port) = authority.rsplit_once(':')?;
    let is_here = ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "*", ""].contains(&host)
        || host.starts_with("127.");
    let port: u16 = port.parse().ok()?;
    is_here.then(|| format!(":{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upstreams_are_ports_of_this_machine_and_sockets() {
        for (written, place) in [
            ("http://127.0.0.1:8000/app", Some(":8000")),
            ("localhost:9000", Some(":9000")),
            ("unix:/run/app.sock", Some("/run/app.sock")),
            ("/var/run/pg/.s.PGSQL.5432", Some("/run/pg/.s.PGSQL.5432")),
            ("http://unix:/run/app.sock:/uri", Some("/run/app.sock")),
            (
                "proxy:unix:/run/php.sock|fcgi://localhost",
                Some("/run/php.sock"),
            ),
            ("http://10.0.0.7:8000", None),
            ("http://backend", None),
        ] {
            assert_eq!(upstream(written).as_deref(), place, "{written}");
        }
    }

    #[test]
    fn titles_are_no_command_lines() {
        for title in [
            "redis-server 127.0.0.1:6379\0\0\0",
            "puma 5.6.5 (tcp://127.0.0.1:3000) [shop]\0",
            "nginx: master process /usr/sbin/nginx",
        ] {
            assert!(is_title(title), "{title}");
        }
        for line in [
            "redis-server\0/etc/redis.conf\0",
            "uwsgi\0--ini\0a b.ini",
            "",
        ] {
            assert!(!is_title(line), "{line}");
        }
    }

    #[test]
    fn processes_are_found_by_what_stays_of_their_command_lines() {
        use ComponentKind::{Gunicorn, Haproxy, PhpFpm};
        let long = format!("gunicorn\0{}\0", "a".repeat(LINE_LEN_MAX));
        for (kind, line, pattern) in [
            (
                Gunicorn,
                "python3\0/usr/bin/gunicorn\0-w\x004\0shop:app(1)\0",
                Some("^python3 /usr/bin/gunicorn -w 4 shop:app\\(1\\)$"),
            ),
            (
                PhpFpm,
                "php-fpm: master process (/etc/php-fpm.conf)",
                Some("^php-fpm: master process \\(/etc/php-fpm\\.conf\\)"),
            ),
            (
                Haproxy,
                "/usr/sbin/haproxy\0-sf\x0012\0-x\0sockpair@4\0-W\0-f\0/etc/h.cfg\0",
                Some("^/usr/sbin/haproxy( .*)? -f /etc/h\\.cfg( |$)"),
            ),
            (Haproxy, "/usr/sbin/haproxy\0-W\0/etc/h.cfg\0", None),
            (Gunicorn, "gunicorn\0--token\0hunter2\0shop:app\0", None),
            (Gunicorn, long.as_str(), None),
            (Gunicorn, "", None),
        ] {
            assert_eq!(pattern_of(kind, line).as_deref(), pattern, "{line:?}");
        }
    }

    #[test]
    fn flags_of_command_lines() {
        let words = ["app", "--workers=4", "-b", "0:80", "-c/x", "--threads", "2"];
        let server = ServerProcess {
            kind: ComponentKind::Gunicorn,
            pid: 1,
            words: words.map(str::to_owned).to_vec(),
            has_title: false,
            executable: None,
            owner: None,
            folder: Some("/srv".to_owned()),
            pattern: None,
            workers: Vec::new(),
        };
        assert_eq!(server.flag(&["-w", "--workers"]), Some("4"));
        assert_eq!(server.flag(&["-b", "--bind"]), Some("0:80"));
        assert_eq!(server.flag(&["-c", "--config"]), Some("/x"));
        assert_eq!(server.flag(&["--threads"]), Some("2"));
        assert_eq!(server.flag(&["-k"]), None);
        assert_eq!(server.flag_at(&["-b"]), Some((3, 0)));
        assert_eq!(server.flag_at(&["--workers"]), Some((1, 10)));
        assert_eq!(server.path("conf.py").as_deref(), Some("/srv/conf.py"));
    }
}
