//! TCP sockets: counts by state, listeners with their queues, ports in use by destination.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use plimsoll_model::metric;

use crate::clock;
use crate::files::{Files, whole_path};
use crate::host::diag::{Diag, Which};
use crate::meter::Meter;
use crate::parse::network::port_range;
use crate::parse::socket::{LISTEN, STATES, TIME_WAIT, TcpSocket, tcp_line, unix_listener};

/// CPU time per second that a full scan may use, ns; a more expensive one runs less often.
const SURVEY_CPU_NS: u64 = 4_000_000;
/// Longest time between two surveys, ns.
const SURVEY_PAUSE_MAX_NS: u64 = 10_000_000_000;
/// Destinations that are reported, beside the target.
const DESTINATIONS_MAX: usize = 8;
/// A destination with fewer ports is not worth a line.
const DESTINATION_PORTS_MIN: u32 = 50;
/// Listeners that are reported, beside the target's.
const LISTENERS_MAX: usize = 8;
/// Where the system's own services listen: journal, name service, message bus, containers.
const OF_THE_MACHINE: [&str; 7] = [
    "/run/systemd/",
    "/run/dbus/",
    "/run/nscd/",
    "/run/user/",
    "/run/containerd/",
    "/run/docker",
    "/run/udev/",
];

/// Where the target listens.
#[derive(Clone, Debug, Default)]
pub(crate) struct TargetListener {
    pub(crate) address: Option<SocketAddr>,
    pub(crate) unix_path: Option<String>,
}

impl TargetListener {
    /// Note for a target that was not found on this machine.
    pub(crate) fn remote_note(&self) -> String {
        let target = match (&self.address, &self.unix_path) {
            (Some(address), _) => address.to_string(),
            (None, Some(path)) => path.clone(),
            (None, None) => "the target".to_owned(),
        };
        format!(
            "no socket or process of {target} was found on this machine: readings of host and network are those of \
             the generator's machine only"
        )
    }

    /// Whether the target's address is given.
    pub(crate) fn is_named(&self) -> bool {
        self.address.is_some() || self.unix_path.is_some()
    }

    /// Whether a listener accepts connections to the target's address.
    fn is_served_by(&self, listener: SocketAddr) -> bool {
        self.address.is_some_and(|address| {
            let canonical = SocketAddr::new(address.ip().to_canonical(), address.port());
            takes(listener, canonical)
        })
    }
}

/// The peer of a process's socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// The process has connected to it: an address, or the path of a Unix socket.
    Server(String),
    /// It has connected to the process.
    Client,
}

#[derive(Debug)]
pub(crate) struct SocketTable {
    /// Directory of the network namespace's files, below the root.
    folder: String,
    diag: Option<Diag>,
    ports: Option<(u16, u16)>,
    next_survey_ns: u64,
    /// File numbers of the sockets on which the target listens, sorted.
    pub(crate) target_inodes: Vec<u64>,
}

/// Ports in use towards a destination.
#[derive(Clone, Copy, Debug, Default)]
struct Ports {
    used: u32,
    time_wait: u32,
}

#[derive(Debug, Default)]
struct Survey {
    states: [u64; STATES.len()],
    listening: Vec<u16>,
    /// The target's listeners, and the bytes in the send queues of its connections.
    target_listeners: Vec<SocketAddr>,
    unsent_bytes: u64,
    destinations: HashMap<(IpAddr, SocketAddr), Ports>,
}

impl SocketTable {
    pub(crate) fn open(files: &mut Files, folder: String, own_namespace: bool) -> Self {
        let mut diag = None;
        if files.is_live() && own_namespace {
            match Diag::open() {
                Ok(open) => diag = Some(open),
                Err(error) => files.note(
                    "sock_diag",
                    &format!(
                        "no socket lists from the kernel, reading /proc/net/tcp instead: {error}"
                    ),
                ),
            }
        }
        Self {
            folder,
            diag,
            ports: None,
            next_survey_ns: 0,
            target_inodes: Vec::new(),
        }
    }

    /// Reads listeners, and all sockets when that is due. `door` is empty for a remote target; `target` is its
    /// address in any case.
    pub(crate) fn read(
        &mut self,
        files: &mut Files,
        meter: &mut Meter,
        target_listener: &TargetListener,
        target: Option<SocketAddr>,
    ) {
        let listeners = self.listening(files);
        self.target_inodes.clear();
        self.report_listeners(files, meter, target_listener, &listeners);
        self.report_unix(files, meter, target_listener);
        self.target_inodes.sort_unstable();
        let now_ns = clock::now_ns();
        if now_ns >= self.next_survey_ns {
            let before_ns = clock::thread_cpu_ns();
            self.survey(files, meter, (target_listener, target), &listeners);
            let cost_ns = clock::thread_cpu_ns().saturating_sub(before_ns);
            let pause_ns = (cost_ns / SURVEY_CPU_NS).saturating_mul(1_000_000_000);
            self.next_survey_ns = now_ns.saturating_add(pause_ns.min(SURVEY_PAUSE_MAX_NS));
        }
    }

    /// All listeners.
    pub(crate) fn listening(&mut self, files: &mut Files) -> Vec<TcpSocket> {
        let mut listeners = Vec::new();
        self.list(files, Which::Listening, |socket| {
            if socket.state == LISTEN {
                listeners.push(socket);
            }
        });
        listeners
    }

    /// Calls `each` with the requested sockets, or with more.
    fn list(&mut self, files: &mut Files, which: Which, mut each: impl FnMut(TcpSocket)) {
        if let Some(diag) = &mut self.diag {
            match diag.tcp(which, &mut each) {
                Ok(()) => return,
                Err(error) => {
                    self.diag = None;
                    files.note(
                        "sock_diag",
                        &format!("no socket lists from the kernel, reading /proc/net/tcp instead: {error}"),
                    );
                }
            }
        }
        for table in ["tcp", "tcp6"] {
            // IPv6 may be disabled; without IPv4's table there is nothing to report.
            if let Ok(text) = files.read(&format!("{}/{table}", self.folder)) {
                text.lines().filter_map(tcp_line).for_each(&mut each);
            }
        }
    }

    /// The peers of these sockets, by inode, where they have one.
    pub(crate) fn peers_of(
        &mut self,
        files: &mut Files,
        wanted: &BTreeSet<u64>,
    ) -> Vec<(u64, Peer)> {
        let mut ends = Vec::new();
        let mut listening = HashSet::new();
        self.list(files, Which::All, |socket| {
            if socket.state == LISTEN {
                listening.insert(socket.local.port());
            } else if wanted.contains(&socket.inode) {
                ends.push(socket);
            }
        });
        let tcp = ends.into_iter().map(|socket| {
            let is_client = listening.contains(&socket.local.port());
            let server = || Peer::Server(socket.remote.to_string());
            (
                socket.inode,
                if is_client { Peer::Client } else { server() },
            )
        });
        let mut peers: Vec<(u64, Peer)> = tcp.collect();
        if peers.len() < wanted.len()
            && let Some(Ok(unix)) = self.diag.as_mut().map(Diag::unix_peers)
        {
            let unix = unix.into_iter().filter(|(inode, _)| wanted.contains(inode));
            peers.extend(unix.map(|(inode, path)| {
                let peer = path.map_or(Peer::Client, Peer::Server);
                (inode, peer)
            }));
        }
        peers
    }

    /// The sockets of this machine that listen where these, by the number of their file, have connected to.
    pub(crate) fn servers_of(&mut self, files: &mut Files, clients: &BTreeSet<u64>) -> Vec<u64> {
        let mut listeners = Vec::new();
        let mut remotes = HashSet::new();
        self.list(files, Which::All, |socket| {
            let (here, there) = (socket.local.ip(), socket.remote.ip());
            if socket.state == LISTEN {
                listeners.push(socket);
            } else if clients.contains(&socket.inode) && (there.is_loopback() || there == here) {
                remotes.insert(socket.remote);
            }
        });
        let is_asked =
            |listener: &TcpSocket| remotes.iter().any(|remote| takes(listener.local, *remote));
        let asked = listeners.iter().filter(|listener| is_asked(listener));
        let mut found: Vec<u64> = asked.map(|listener| listener.inode).collect();
        found.extend(self.local_servers_of(files, clients));
        found
    }

    /// The same of unix sockets, without those of the machine's own services.
    fn local_servers_of(&mut self, files: &mut Files, clients: &BTreeSet<u64>) -> Vec<u64> {
        let Some(Ok(ends)) = self.diag.as_mut().map(Diag::unix_peers) else {
            return Vec::new();
        };
        let asked = ends
            .into_iter()
            .filter(|(inode, _)| clients.contains(inode));
        let paths: BTreeSet<String> = asked
            .filter_map(|(_, path)| path)
            .filter(|path| !is_of_the_machine(path))
            .collect();
        if paths.is_empty() {
            return Vec::new();
        }
        let table = files.read(&format!("{}/unix", self.folder)).unwrap_or("");
        paths
            .iter()
            .filter_map(|path| unix_listener(table, path))
            .collect()
    }

    fn report_listeners(
        &mut self,
        files: &mut Files,
        meter: &mut Meter,
        target_listener: &TargetListener,
        listeners: &[TcpSocket],
    ) {
        let mut others = 0;
        let mut queues: Vec<(SocketAddr, &str, u32, u32)> = Vec::new();
        for listener in listeners {
            let mut backlog = listener.send_queue;
            if backlog == 0 {
                backlog = somaxconn(files);
            }
            let process = if target_listener.is_served_by(listener.local) {
                self.target_inodes.push(listener.inode);
                metric::TARGET
            } else if listener.receive_queue > 0 && listener.receive_queue >= backlog {
                others += 1;
                if others > LISTENERS_MAX {
                    continue;
                }
                "other"
            } else {
                continue;
            };
            // Sockets that share a port (SO_REUSEPORT) each have a queue: the fullest speaks for all.
            match queues.iter_mut().find(|queue| queue.0 == listener.local) {
                Some(queue) if queue.2 < listener.receive_queue => {
                    queue.2 = listener.receive_queue;
                    queue.3 = backlog;
                }
                Some(_) => {}
                None => queues.push((listener.local, process, listener.receive_queue, backlog)),
            }
        }
        for (address, process, queue, backlog) in queues {
            let address = address.to_string();
            report_queue(meter, &address, process, queue, backlog);
        }
    }

    fn report_unix(
        &mut self,
        files: &mut Files,
        meter: &mut Meter,
        target_listener: &TargetListener,
    ) {
        let Some(path) = &target_listener.unix_path else {
            return;
        };
        let table = format!("{}/unix", self.folder);
        let Some(text) = files.read_or_note(&table, "the target's unix socket") else {
            return;
        };
        let Some(inode) = unix_listener(text, path) else {
            return;
        };
        self.target_inodes.push(inode);
        let queue = self.diag.as_mut().map(|diag| diag.unix_queue(inode));
        match queue {
            Some(Ok(Some((queue, backlog)))) => {
                report_queue(meter, path, metric::TARGET, queue, backlog);
            }
            _ => files.note(
                "unix queue",
                "the accept queue of the target's unix socket: the kernel does not report it here",
            ),
        }
    }

    fn survey(
        &mut self,
        files: &mut Files,
        meter: &mut Meter,
        (target_listener, target): (&TargetListener, Option<SocketAddr>),
        listeners: &[TcpSocket],
    ) {
        if self.ports.is_none() {
            let range = files.read_or_note(
                "proc/sys/net/ipv4/ip_local_port_range",
                "the range of local ports",
            );
            self.ports = range.and_then(port_range);
        }
        let ports = self.ports.unwrap_or((32_768, 60_999));
        let mut survey = Survey {
            listening: listeners.iter().map(|socket| socket.local.port()).collect(),
            target_listeners: target_listeners(target_listener, listeners),
            ..Survey::default()
        };
        self.list(files, Which::All, |socket| survey.add(socket, ports));
        for (state, &count) in STATES.iter().zip(&survey.states).skip(1) {
            // The kernel knows two states before a handshake is complete; both are `syn_received`.
            let same: u64 = match *state {
                "syn_received" => survey.states[3] + survey.states[12],
                _ => count,
            };
            meter.gauge(
                metric::TCP_CONNECTIONS,
                &[("network.connection.state", state)],
                same as f64,
            );
        }
        if !survey.target_listeners.is_empty() {
            meter.gauge(metric::TCP_UNSENT, &[], survey.unsent_bytes as f64);
        }
        if let Some((first, last)) = self.ports {
            let ports = u32::from(last) - u32::from(first) + 1;
            meter.gauge(metric::PORTS_LIMIT, &[], f64::from(ports));
        }
        survey.report_destinations(meter, target);
    }
}

/// Where the target listens, of these.
fn target_listeners(target_listener: &TargetListener, listeners: &[TcpSocket]) -> Vec<SocketAddr> {
    let all = listeners.iter().map(|listener| listener.local);
    let mut own: Vec<SocketAddr> = all
        .filter(|local| target_listener.is_served_by(*local))
        .collect();
    own.dedup();
    own
}

impl Survey {
    fn add(&mut self, socket: TcpSocket, ports: (u16, u16)) {
        if let Some(count) = self.states.get_mut(usize::from(socket.state)) {
            *count += 1;
        }
        let is_of_target = |address: &SocketAddr| takes(*address, socket.local);
        if socket.state != LISTEN && self.target_listeners.iter().any(is_of_target) {
            self.unsent_bytes += u64::from(socket.send_queue);
        }
        let port = socket.local.port();
        // The server's end of a connection is not an outgoing port.
        if socket.state == LISTEN
            || !(ports.0..=ports.1).contains(&port)
            || self.listening.contains(&port)
        {
            return;
        }
        let key = (socket.local.ip(), socket.remote);
        let count = self.destinations.entry(key).or_default();
        count.used += 1;
        count.time_wait += u32::from(socket.state == TIME_WAIT);
    }

    fn report_destinations(&self, meter: &mut Meter, target: Option<SocketAddr>) {
        let mut fullest: HashMap<SocketAddr, Ports> = HashMap::new();
        for (&(_, remote), &ports) in &self.destinations {
            let best = fullest.entry(remote).or_default();
            if ports.used > best.used {
                *best = ports;
            }
        }
        let target = target.map(|address| {
            let canonical = SocketAddr::new(address.ip().to_canonical(), address.port());
            fullest.entry(canonical).or_default();
            canonical
        });
        let mut ranked: Vec<_> = fullest
            .into_iter()
            .filter(|&(remote, ports)| {
                Some(remote) == target || ports.used >= DESTINATION_PORTS_MIN
            })
            .collect();
        ranked.sort_by_key(|&(remote, ports)| {
            (
                Some(remote) != target,
                std::cmp::Reverse(ports.used),
                remote,
            )
        });
        for (remote, ports) in ranked.into_iter().take(DESTINATIONS_MAX + 1) {
            let process = if Some(remote) == target {
                metric::GENERATOR
            } else {
                "other"
            };
            let remote = remote.to_string();
            let labels = [("destination", remote.as_str()), ("process", process)];
            meter.gauge(metric::PORTS_USED, &labels, f64::from(ports.used));
            meter.gauge(metric::PORTS_TIME_WAIT, &labels, f64::from(ports.time_wait));
        }
    }
}

fn report_queue(meter: &mut Meter, listener: &str, process: &str, queue: u32, backlog: u32) {
    let labels = [("listener", listener), ("process", process)];
    meter.gauge(metric::LISTEN_QUEUE, &labels, f64::from(queue));
    meter.gauge(metric::LISTEN_BACKLOG, &labels, f64::from(backlog));
}

/// The longest backlog a listener can have: an upper bound where its own is not known.
fn somaxconn(files: &mut Files) -> u32 {
    let text = files.read("proc/sys/net/core/somaxconn").unwrap_or("");
    text.trim().parse().unwrap_or(4096)
}

/// Whether a listener accepts connections to an address.
fn takes(listener: SocketAddr, address: SocketAddr) -> bool {
    listener.port() == address.port()
        && (listener.ip().is_unspecified() || listener.ip() == address.ip())
}

/// Whether a path is a socket of the system's own services, which every program uses.
fn is_of_the_machine(path: &str) -> bool {
    let path = path.strip_prefix("/var").unwrap_or(path);
    OF_THE_MACHINE.iter().any(|begin| path.starts_with(begin))
}

/// Whether `ip` is an address of this machine.
pub(crate) fn is_own_address(ip: IpAddr) -> bool {
    ip.is_loopback() || std::net::UdpSocket::bind((ip, 0)).is_ok()
}

/// The path of a unix socket as the kernel's table has it.
pub(crate) fn unix_path(path: &Path) -> String {
    whole_path(path).to_string_lossy().into_owned()
}
