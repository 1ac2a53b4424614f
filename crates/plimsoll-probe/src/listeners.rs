//! Programs that listen for connections on this machine. Nothing is sent to them.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use plimsoll_model::component::ComponentKind;

use crate::files::Files;
use crate::host::sockets::SocketTable;
use crate::kernel_files;
use crate::parse::socket::{TcpSocket, socket_link};
use crate::program::{technology, words_of};

/// Listeners that are reported at most.
const LISTENERS_MAX: usize = 64;
/// Longest command line that is reported, characters.
const COMMAND_LEN_MAX: usize = 60;
/// Ports on which web services listen by custom: those go first.
const WEB_PORTS: [u16; 8] = [80, 443, 8080, 3000, 8000, 5000, 8443, 4000];
/// Ports of well-known services that do not speak HTTP: mail, names, printers, remote shells, databases and queues.
const OTHER_PORTS: [u16; 22] = [
    21, 22, 23, 25, 53, 110, 111, 139, 143, 389, 445, 465, 587, 631, 636, 993, 995, 1883, 3306,
    5353, 5355, 5672,
];

/// A program that accepts connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListeningProgram {
    /// Where to connect to it from this machine.
    pub address: SocketAddr,
    /// Its process; `None` where this user may not read that.
    pub pid: Option<u32>,
    /// Its command line, shortened; empty without a process.
    pub command: String,
    /// Whether it is known to speak another protocol than HTTP.
    pub is_other_protocol: bool,
}

impl ListeningProgram {
    /// The URL under which it may be reached.
    pub fn url(&self) -> String {
        let scheme = match self.address.port() {
            443 | 8443 => "https",
            _ => "http",
        };
        format!("{scheme}://{}/", self.address)
    }
}

/// The programs that listen on TCP, those on customary web ports first.
pub fn listening_programs() -> Vec<ListeningProgram> {
    below(PathBuf::from("/"))
}

fn below(root: PathBuf) -> Vec<ListeningProgram> {
    let mut files = Files::new(root);
    let folder = if files.is_live() {
        "proc/thread-self/net"
    } else {
        "proc/net"
    };
    let mut table = SocketTable::open(&mut files, folder.to_owned(), true);
    let mut by_port = BTreeMap::<u16, TcpSocket>::new();
    for socket in table.listening(&mut files) {
        // The same port over IPv4 and IPv6 is one program.
        let known = by_port.entry(socket.local.port()).or_insert(socket);
        if rank(socket.local.ip()) < rank(known.local.ip()) {
            *known = socket;
        }
    }
    let holders = holders(&files, by_port.values());
    let mut programs: Vec<ListeningProgram> = by_port
        .values()
        .take(LISTENERS_MAX)
        .map(|socket| program(&mut files, *socket, holders.get(&socket.inode).copied()))
        .collect();
    programs.sort_by_key(|program| {
        let port = program.address.port();
        let web = WEB_PORTS.iter().position(|known| *known == port);
        (web.unwrap_or(WEB_PORTS.len()), port)
    });
    programs
}

/// Any address, then loopback, then others; IPv4 first.
fn rank(ip: IpAddr) -> (u8, bool) {
    let kind = match ip {
        ip if ip.is_unspecified() => 0,
        ip if ip.is_loopback() => 1,
        _ => 2,
    };
    (kind, ip.is_ipv6())
}

/// The process that holds each socket: of several the one with the lowest number, which started the others.
fn holders<'a>(files: &Files, sockets: impl Iterator<Item = &'a TcpSocket>) -> BTreeMap<u64, u32> {
    let wanted: Vec<u64> = sockets.map(|socket| socket.inode).collect();
    let mut holders = BTreeMap::new();
    for pid in files.numbers_in("proc").unwrap_or_default() {
        let Ok(links) = kernel_files::links(&files.path(&format!("proc/{pid}/fd"))) else {
            continue;
        };
        for inode in links.filter_map(|link| socket_link(&link)) {
            if wanted.contains(&inode) {
                let holder = holders.entry(inode).or_insert(pid);
                *holder = pid.min(*holder);
            }
        }
    }
    holders
}

fn program(files: &mut Files, socket: TcpSocket, pid: Option<u32>) -> ListeningProgram {
    let (ip, port) = (socket.local.ip(), socket.local.port());
    let ip = if ip.is_unspecified() {
        Ipv4Addr::LOCALHOST.into()
    } else {
        ip
    };
    let kind = pid.and_then(|pid| technology(files, pid));
    let command = pid.map_or_else(String::new, |pid| {
        let line = files.command_line(pid);
        shortened(&words_of(&line).join(" "))
    });
    ListeningProgram {
        address: SocketAddr::new(ip, port),
        pid,
        command,
        is_other_protocol: OTHER_PORTS.contains(&port) || kind.is_some_and(is_store),
    }
}

/// Whether the technology has a protocol of its own.
fn is_store(kind: ComponentKind) -> bool {
    matches!(
        kind,
        ComponentKind::Postgres
            | ComponentKind::Mysql
            | ComponentKind::Pgbouncer
            | ComponentKind::Redis
            | ComponentKind::Memcached
            | ComponentKind::Mongo
            | ComponentKind::PhpFpm
    )
}

fn shortened(command: &str) -> String {
    match command.char_indices().nth(COMMAND_LEN_MAX) {
        Some((end, _)) => format!("{}…", &command[..end]),
        None => command.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of `/proc/net/tcp` of a listener.
    fn line(address: &str, inode: u64) -> String {
        format!(
            "   0: {address} 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 {inode} 1 0 100 0 0 10 0\n"
        )
    }

    #[test]
    fn programs_are_found_with_their_command_lines() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        // 0.0.0.0:8000, 127.0.0.1:9999, 0.0.0.0:5432 and 0.0.0.0:22, whose process cannot be read.
        let table = [
            "00000000:1F40",
            "0100007F:270F",
            "00000000:1538",
            "00000000:0016",
        ];
        let lines: Vec<String> = (1_u64..)
            .zip(table)
            .map(|(inode, at)| line(at, inode))
            .collect();
        put("proc/net/tcp", &lines.concat());
        for (pid, comm, command, inode) in [
            (40, "python3", "python3\0-m\0http.server\08000\0", 1),
            (41, "python3", "python3\0child\0", 1),
            (50, "shop", "/opt/shop\0--port\09999\0", 2),
            (60, "postgres", "/usr/bin/postgres\0", 3),
        ] {
            put(&format!("proc/{pid}/comm"), &format!("{comm}\n"));
            put(&format!("proc/{pid}/cmdline"), command);
            let folder = root.path().join(format!("proc/{pid}/fd"));
            std::fs::create_dir_all(&folder).unwrap();
            std::os::unix::fs::symlink(format!("socket:[{inode}]"), folder.join("3")).unwrap();
        }
        let found: Vec<(String, Option<u32>, String, bool)> = below(root.path().to_owned())
            .into_iter()
            .map(|program| {
                (
                    program.url(),
                    program.pid,
                    program.command.clone(),
                    program.is_other_protocol,
                )
            })
            .collect();
        let right = [
            (
                "http://127.0.0.1:8000/",
                Some(40),
                "python3 -m http.server 8000",
                false,
            ),
            ("http://127.0.0.1:22/", None, "", true),
            (
                "http://127.0.0.1:5432/",
                Some(60),
                "/usr/bin/postgres",
                true,
            ),
            (
                "http://127.0.0.1:9999/",
                Some(50),
                "/opt/shop --port 9999",
                false,
            ),
        ];
        let right = right
            .map(|(url, pid, command, other)| (url.to_owned(), pid, command.to_owned(), other));
        assert_eq!(found, right);
    }
}
