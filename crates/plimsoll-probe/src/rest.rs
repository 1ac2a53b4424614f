//! The state of this machine at a moment, for callers that start processes and wait until the machine is at rest:
//! processes, sockets, CPU time, swap.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use crate::kernel_files;
use crate::parse::socket::{ESTABLISHED, LISTEN, TIME_WAIT};
use crate::parse::{cgroup, cpu, process, socket, value_of};

/// Bytes of the unit `kB` in texts of the kernel.
const KIB: u64 = 1024;

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessState {
    /// Its id.
    pub pid: u32,
    /// Its parent.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// Its session.
    pub session: u32,
    /// Its start, clock ticks since boot; with the pid it names a process until the next boot.
    pub started: u64,
    /// Whether it has ended, and its parent has not asked for its status yet.
    pub has_ended: bool,
    /// Name, at most 15 bytes.
    pub name: String,
}

/// The process with this id; `None` when there is none.
pub fn process(pid: u32) -> Option<ProcessState> {
    let text = kernel_files::text(&format!("/proc/{pid}/stat")).ok()?;
    let stat = process::stat(&text)?;
    Some(ProcessState {
        pid,
        parent: stat.parent,
        group: stat.group,
        session: stat.session,
        started: stat.start_ticks,
        has_ended: matches!(stat.state, 'Z' | 'X'),
        name: stat.comm,
    })
}

/// All processes that are visible here.
///
/// # Errors
/// When `/proc` cannot be read.
pub fn processes() -> io::Result<Vec<ProcessState>> {
    let names = kernel_files::names(Path::new("/proc"))?;
    let pids = names.filter_map(|name| name.parse().ok());
    Ok(pids.filter_map(process).collect())
}

/// Whether a process was started with this variable in its environment; `false` also where it may not be read.
pub fn has_variable(pid: u32, name: &str, value: &str) -> bool {
    let text = kernel_files::text(&format!("/proc/{pid}/environ")).unwrap_or_default();
    text.split('\0')
        .any(|entry| entry.split_once('=') == Some((name, value)))
}

/// Swap used by a process, bytes; 0 where it is unknown.
pub fn swap_of(pid: u32) -> u64 {
    let text = kernel_files::text(&format!("/proc/{pid}/status")).unwrap_or_default();
    swap_in(&text)
}

fn swap_in(status: &str) -> u64 {
    let kibibytes = value_of(status, "VmSwap:").unwrap_or(0);
    kibibytes.saturating_mul(KIB)
}

/// Busy and total CPU time of the machine since boot, clock ticks.
///
/// # Errors
/// When `/proc/stat` cannot be read.
pub fn cpu_ticks() -> io::Result<(u64, u64)> {
    let times = cpu::stat(&kernel_files::text("/proc/stat")?).all;
    Ok((times.busy(), times.total()))
}

/// Memory of the machine, bytes.
///
/// # Errors
/// When `/proc/meminfo` cannot be read.
pub fn memory_total() -> io::Result<u64> {
    let text = kernel_files::text("/proc/meminfo")?;
    let kibibytes = value_of(&text, "MemTotal:").unwrap_or(0);
    Ok(kibibytes.saturating_mul(KIB))
}

/// Share of the machine's memory that programs may still take without swap, 0 to 1.
///
/// # Errors
/// When `/proc/meminfo` cannot be read.
pub fn memory_available() -> io::Result<f64> {
    let text = kernel_files::text("/proc/meminfo")?;
    let value = |name| value_of(&text, name).unwrap_or(0) as f64;
    let total = value("MemTotal:");
    if total <= 0.0 {
        return Err(io::Error::other("MemTotal is missing"));
    }
    Ok(value("MemAvailable:") / total)
}

/// Ports for outgoing connections.
///
/// # Errors
/// When `ip_local_port_range` cannot be read.
pub fn local_ports() -> io::Result<u64> {
    let text = kernel_files::text("/proc/sys/net/ipv4/ip_local_port_range")?;
    let mut words = text
        .split_whitespace()
        .filter_map(|word| word.parse::<u64>().ok());
    let (first, last) = (words.next().unwrap_or(0), words.next().unwrap_or(0));
    Ok((last + 1).saturating_sub(first))
}

/// Sockets that a load leaves behind for a while.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketCounts {
    /// Established connections of some servers.
    pub established: u64,
    /// Connections of these that one end has closed, and the other has not.
    pub closing: u64,
    /// Sockets of the machine in `TIME_WAIT` whose ports the kernel keeps from new connections.
    pub time_waits: u64,
}

/// Counts sockets; established and closing ones are those of servers that listen on these ports.
///
/// # Errors
/// When `/proc/net/tcp` cannot be read.
pub fn sockets(ports: &BTreeSet<u16>) -> io::Result<SocketCounts> {
    let reuse = kernel_files::text("/proc/sys/net/ipv4/tcp_tw_reuse").unwrap_or_default();
    Ok(socket_counts(&tcp_sockets()?, ports, reuse.trim()))
}

fn socket_counts(
    sockets: &[socket::TcpSocket],
    ports: &BTreeSet<u16>,
    reuse: &str,
) -> SocketCounts {
    let mut counts = SocketCounts::default();
    for socket in sockets {
        match socket.state {
            TIME_WAIT if keeps_its_port(socket, reuse) => counts.time_waits += 1,
            LISTEN | TIME_WAIT => {}
            _ if !ports.contains(&socket.local.port()) => {}
            ESTABLISHED => counts.established += 1,
            _ => counts.closing += 1,
        }
    }
    counts
}

/// Whether no new connection may take the port of a socket in `TIME_WAIT`: with `tcp_tw_reuse` at 1 it may after a second,
/// at 2, the kernel's default, where one end is a loopback address.
fn keeps_its_port(socket: &socket::TcpSocket, reuse: &str) -> bool {
    match reuse {
        "1" => false,
        "2" => ![socket.local, socket.remote]
            .iter()
            .any(|end| end.ip().to_canonical().is_loopback()),
        _ => true,
    }
}

fn tcp_sockets() -> io::Result<Vec<socket::TcpSocket>> {
    let mut text = kernel_files::text("/proc/net/tcp")?;
    // Absent where IPv6 is switched off.
    text.push_str(&kernel_files::text("/proc/net/tcp6").unwrap_or_default());
    Ok(text.lines().filter_map(socket::tcp_line).collect())
}

/// The ports of TCP on which these processes listen.
///
/// # Errors
/// When `/proc/net/tcp` cannot be read.
pub fn listening_ports(pids: &BTreeSet<u32>) -> io::Result<BTreeSet<u16>> {
    let inodes: BTreeSet<u64> = pids.iter().flat_map(|pid| socket_inodes(*pid)).collect();
    let sockets = tcp_sockets()?.into_iter();
    let listeners = sockets.filter(|socket| socket.state == LISTEN);
    Ok(listeners
        .filter(|socket| inodes.contains(&socket.inode))
        .map(|socket| socket.local.port())
        .collect())
}

/// The process that listens on a port of TCP; `None` when there is none, or its descriptors may not be read.
pub fn listener_of(port: u16) -> Option<ProcessState> {
    let sockets = tcp_sockets().ok()?;
    let inodes: BTreeSet<u64> = sockets
        .into_iter()
        .filter(|socket| socket.state == LISTEN && socket.local.port() == port)
        .map(|socket| socket.inode)
        .collect();
    if inodes.is_empty() {
        return None;
    }
    let holds = |state: &ProcessState| {
        socket_inodes(state.pid)
            .iter()
            .any(|inode| inodes.contains(inode))
    };
    processes().ok()?.into_iter().find(holds)
}

fn socket_inodes(pid: u32) -> Vec<u64> {
    let folder = format!("/proc/{pid}/fd");
    let links = kernel_files::links(Path::new(&folder));
    links.map_or_else(
        |_| Vec::new(),
        |links| {
            links
                .filter_map(|link| socket::socket_link(&link))
                .collect()
        },
    )
}

/// Where a cgroup hierarchy is mounted, and the cgroup of this process in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgroupHierarchy {
    /// The mount point.
    pub mount: String,
    /// The cgroup of this process, relative to the mount point, without a leading slash.
    pub own: String,
    /// Controllers of version 1; `None` for version 2.
    pub controllers: Option<Vec<String>>,
}

/// The cgroup hierarchies of this process.
///
/// # Errors
/// When `/proc/self/cgroup` or `/proc/self/mountinfo` cannot be read.
pub fn cgroup_hierarchies() -> io::Result<Vec<CgroupHierarchy>> {
    let own = kernel_files::text("/proc/self/cgroup")?;
    let mounts = kernel_files::text("/proc/self/mountinfo")?;
    Ok(hierarchies_in(&own, &mounts))
}

fn hierarchies_in(own: &str, mounts: &str) -> Vec<CgroupHierarchy> {
    let hierarchy = |mount: cgroup::Mount| {
        let controllers: Option<Vec<String>> = mount
            .options
            .as_deref()
            .map(|options| options.split(',').map(str::to_owned).collect());
        let path = match &controllers {
            None => cgroup::path_of(own, ""),
            Some(names) => names.iter().find_map(|name| cgroup::path_of(own, name)),
        }?;
        // In a container the mount shows only a subtree of the hierarchy.
        let inside = path.strip_prefix(mount.root.as_str()).unwrap_or(path);
        Some(CgroupHierarchy {
            own: inside.trim_matches('/').to_owned(),
            mount: mount.point,
            controllers,
        })
    };
    cgroup::mounts(mounts)
        .into_iter()
        .filter_map(hierarchy)
        .collect()
}

/// The files that a process has open, by their paths; none where its descriptors may not be read.
pub fn open_files(pid: u32) -> Vec<PathBuf> {
    let folder = format!("/proc/{pid}/fd");
    let links = kernel_files::links(Path::new(&folder))
        .into_iter()
        .flatten();
    links
        .filter(|link| link.starts_with('/'))
        .map(PathBuf::from)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn this_process_is_described() {
        let pid = std::process::id();
        let own = process(pid).unwrap();
        assert!(
            own.started > 0 && own.group > 0 && !own.has_ended,
            "{own:?}"
        );
        assert!(processes().unwrap().contains(&own));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(listener_of(port).unwrap().pid, pid);
        let ports = listening_ports(&[pid].into()).unwrap();
        assert!(ports.contains(&port), "{ports:?}");
        let (_client, _server) = (
            std::net::TcpStream::connect(("127.0.0.1", port)).unwrap(),
            listener.accept().unwrap(),
        );
        let counts = sockets(&[port].into()).unwrap();
        assert_eq!((counts.established, counts.closing), (1, 0));
        drop(listener);
        assert_eq!(listener_of(port), None);
        assert!(!has_variable(pid, "PLIMSOLL_NO_SUCH", "1"));
    }

    #[test]
    fn the_machine_has_memory_ports_and_a_clock() {
        let (busy, total) = cpu_ticks().unwrap();
        assert!(busy > 0 && busy <= total);
        assert!(memory_total().unwrap() > 1 << 20);
        assert!(local_ports().unwrap() > 0);
    }

    #[test]
    fn time_wait_counts_where_it_keeps_a_port() {
        let line = |local: &str, remote: &str, state: &str| {
            format!(
                "   0: {local} {remote} {state} 00000000:00000000 00:00000000 00000000     0        0 7 1 0 100 0\n"
            )
        };
        let text = [
            line("0100007F:1F90", "0100007F:9C40", "06"),
            line("0500000A:9C41", "0600000A:1F90", "06"),
            line("0100007F:1F90", "0100007F:9C42", "01"),
            line("0100007F:1F90", "0100007F:9C43", "08"),
            line("0100007F:1F91", "0100007F:9C44", "01"),
            line("0100007F:1F90", "00000000:0000", "0A"),
        ]
        .concat();
        let sockets: Vec<_> = text.lines().filter_map(socket::tcp_line).collect();
        assert_eq!(sockets.len(), 6);
        let count = |reuse| socket_counts(&sockets, &[8080].into(), reuse);
        assert_eq!(
            ["0", "1", "2"].map(|reuse| count(reuse).time_waits),
            [2, 0, 1]
        );
        assert_eq!((count("2").established, count("2").closing), (1, 1));
    }

    #[test]
    fn the_kernels_texts_are_understood() {
        assert_eq!(swap_in("Name:\tpostgres\nVmSwap:\t      12 kB\n"), 12_288);
        assert_eq!(swap_in("Name:\tkthreadd\n"), 0);
        let own = "4:memory:/docker/7/app\n1:cpu,cpuacct:/\n0::/user.slice\n";
        let mounts = "30 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                      31 25 0:27 /docker/7 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      32 25 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
                      33 25 0:29 / /tmp rw - tmpfs tmpfs rw\n";
        let found = hierarchies_in(own, mounts);
        let places: Vec<_> = found
            .iter()
            .map(|it| (it.mount.as_str(), it.own.as_str(), it.controllers.is_some()))
            .collect();
        assert_eq!(
            places,
            [
                ("/sys/fs/cgroup/cpu", "", true),
                ("/sys/fs/cgroup/memory", "app", true),
                ("/sys/fs/cgroup/unified", "user.slice", false),
            ]
        );
    }
}
