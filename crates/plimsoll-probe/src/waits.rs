//! What the target's threads wait for: each is sampled once a second. For a thread in a system call on a socket the
//! peer is recorded, so that what a request waits for has a name even where the peer is not watched.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use plimsoll_model::metric;

use crate::clock;
use crate::files::Files;
use crate::host::sockets::{Peer, SocketTable};
use crate::kernel_files;
use crate::meter::Meter;
use crate::names::BoundedNames;
use crate::parse::socket::socket_link;
use crate::parse::syscall::{Wait, place, syscall};

/// Processes and threads that are known; of more, the rest is not.
const PROCESSES_MAX: usize = 256;
const KNOWN_MAX: usize = 8192;
/// Threads that are sampled in a second at most; of more, other ones each second, which represent all.
const THREADS_MAX: usize = 256;
/// Distinct things waited for at most.
const NAMES_MAX: usize = 64;
/// Peers that are remembered.
const PEERS_MAX: usize = 4096;
/// Interval between two reads of the socket table, ns.
const TABLE_NS: u64 = 2_000_000_000;
/// Note where threads cannot be read.
const DENIED: &str =
    "what the target's threads wait for: run as root, or with the capability CAP_SYS_PTRACE";

/// Samples threads.
#[derive(Debug)]
pub(crate) struct ThreadWaits {
    /// The other ends of sockets, by the number of their file.
    peers: HashMap<u64, Peer>,
    next_table_ns: u64,
    /// Everything waited for so far: without waits now it is recorded as zero, not as a gap.
    names: BoundedNames,
    /// Samples so far.
    samples: usize,
}

/// Sample of one thread.
enum WaitTarget {
    Named(&'static str),
    Socket(u64),
}

impl Default for ThreadWaits {
    fn default() -> Self {
        Self {
            peers: HashMap::new(),
            next_table_ns: 0,
            names: BoundedNames::up_to(NAMES_MAX),
            samples: 0,
        }
    }
}

impl ThreadWaits {
    /// Counts the threads of the members by what they wait for.
    pub(crate) fn read(
        &mut self,
        files: &mut Files,
        meter: &mut Meter,
        sockets: &mut SocketTable,
        members: &BTreeSet<u32>,
    ) {
        self.samples = self.samples.wrapping_add(1);
        let (targets, each) = sample_threads(files, members, self.samples);
        if targets.is_empty() {
            return;
        }
        self.learn(files, sockets, &targets);
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        for target in &targets {
            let name = match target {
                WaitTarget::Named(name) => name,
                WaitTarget::Socket(inode) => match self.peers.get(inode) {
                    Some(Peer::Server(name)) => name.as_str(),
                    Some(Peer::Client) => "clients",
                    None => "sockets",
                },
            };
            *counts.entry(name).or_default() += 1;
        }
        // The most frequent waits come first, so that they have a name within the limit.
        let mut ranked: Vec<(&str, u32)> =
            counts.iter().map(|(name, count)| (*name, *count)).collect();
        ranked.sort_by_key(|&(name, count)| (std::cmp::Reverse(count), name));
        for (name, _) in ranked {
            self.names.see(name);
        }
        for name in self.names.iter() {
            let labels = [("process", metric::TARGET), ("on", name)];
            let count = counts.get(name).copied().unwrap_or(0);
            meter.gauge(metric::THREAD_WAITS, &labels, f64::from(count) * each);
        }
    }

    /// Looks up the peers of new sockets.
    fn learn(&mut self, files: &mut Files, sockets: &mut SocketTable, targets: &[WaitTarget]) {
        let unknown: BTreeSet<u64> = targets
            .iter()
            .filter_map(|target| match target {
                WaitTarget::Socket(inode) if !self.peers.contains_key(inode) => Some(*inode),
                _ => None,
            })
            .collect();
        let now_ns = clock::now_ns();
        if unknown.is_empty() || now_ns < self.next_table_ns {
            return;
        }
        self.next_table_ns = now_ns.saturating_add(TABLE_NS);
        if self.peers.len() > PEERS_MAX {
            self.peers.clear();
        }
        self.peers.extend(sockets.peers_of(files, &unknown));
    }
}

/// What threads do, and how many threads each sample represents.
fn sample_threads(
    files: &mut Files,
    members: &BTreeSet<u32>,
    round: usize,
) -> (Vec<WaitTarget>, f64) {
    let mut threads = Vec::new();
    for &pid in members.iter().take(PROCESSES_MAX) {
        let own = files.numbers_in(&format!("proc/{pid}/task"));
        let own = own.unwrap_or_default().into_iter();
        threads.extend(own.map(|thread| (pid, thread)));
        if threads.len() >= KNOWN_MAX {
            threads.truncate(KNOWN_MAX);
            break;
        }
    }
    // Adjacent threads often do the same work: the samples are spread.
    let apart = threads.len().div_ceil(THREADS_MAX).max(1);
    let chosen = threads.iter().skip(round % apart).step_by(apart);
    let sampled = chosen.clone().count().max(1);
    let targets = chosen.filter_map(|&(pid, thread)| sample_thread(files, pid, thread));
    (targets.collect(), threads.len() as f64 / sampled as f64)
}

/// One thread; `None` where it has ended meanwhile, or cannot be read.
fn sample_thread(files: &mut Files, pid: u32, thread: u32) -> Option<WaitTarget> {
    let folder = format!("proc/{pid}/task/{thread}");
    let wait = match files.read(&format!("{folder}/syscall")) {
        Ok(text) => syscall(text),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            files.note("threads", DENIED);
            place(files.read(&format!("{folder}/wchan")).ok()?)?
        }
        Err(_) => return None,
    };
    let descriptor = match wait {
        Wait::Descriptor(number) => Some(number),
        Wait::DescriptorAt(address) => descriptor_at(files, pid, address),
        _ => None,
    };
    if let Some(target) = descriptor.and_then(|number| what_is(files, pid, number)) {
        return Some(target);
    }
    Some(WaitTarget::Named(match wait {
        Wait::Running => "running",
        Wait::Lock => "lock",
        Wait::Sleep => "sleep",
        Wait::Events | Wait::DescriptorAt(_) => "events",
        Wait::Accept => "accept",
        Wait::Disk => "disk",
        Wait::Child => "child",
        Wait::Socket => "sockets",
        Wait::Pipe => "pipe",
        Wait::Descriptor(_) | Wait::Other => "other",
    }))
}

/// The first number of a `struct pollfd` in the memory of a process.
fn descriptor_at(files: &mut Files, pid: u32, address: u64) -> Option<u32> {
    let path = format!("proc/{pid}/mem");
    let bytes = files.memory_of(&path, address, 4).ok()?;
    u32::try_from(i32::from_ne_bytes(bytes.try_into().ok()?)).ok()
}

/// What a descriptor is: its link reads `socket:[5]`, `pipe:[6]`, `anon_inode:[eventpoll]` or a path.
fn what_is(files: &Files, pid: u32, descriptor: u32) -> Option<WaitTarget> {
    let link = kernel_files::link(&files.path(&format!("proc/{pid}/fd/{descriptor}")))?;
    if let Some(inode) = socket_link(&link) {
        return Some(WaitTarget::Socket(inode));
    }
    Some(WaitTarget::Named(if link.starts_with("pipe:") {
        "pipe"
    } else if link.starts_with("anon_inode:") {
        "events"
    } else {
        "disk"
    }))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Threads of this process that wait, as sampled: one for a server, one for a client, one for a lock.
    #[test]
    fn threads_wait_for_whom_they_wait() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap().to_string();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let local = UnixListener::bind(&path).unwrap();
        let mut held = Vec::new();
        for stream in [
            Box::new(TcpStream::connect(server.local_addr().unwrap()).unwrap())
                as Box<dyn std::io::Read + Send>,
            Box::new(UnixStream::connect(&path).unwrap()),
        ] {
            let mut stream = stream;
            std::thread::spawn(move || stream.read(&mut [0]));
        }
        held.push(server.accept().unwrap().0);
        let mut asked = held[0].try_clone().unwrap();
        std::thread::spawn(move || std::io::Read::read(&mut asked, &mut [0]));
        let other_end = local.accept().unwrap();
        // No other thread runs for sure: this one is in a system call whenever it samples.
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let runner = std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let mut files = Files::new("/".into());
        let mut sockets = SocketTable::open(&mut files, "proc/thread-self/net".to_owned(), true);
        let own = BTreeSet::from([std::process::id()]);
        let path = path.display().to_string();
        let wanted = [address.as_str(), path.as_str(), "clients", "running"];
        // A thread that was just started has not reached its system call, on a busy machine for seconds.
        let mut waits = ThreadWaits::default();
        let mut found = [false; 4];
        let observed = (0..1_000_000).find_map(|_| {
            // The samples of a minute, in a moment: each with a table of its own.
            waits.next_table_ns = 0;
            let mut meter = Meter::default();
            waits.read(&mut files, &mut meter, &mut sockets, &own);
            let values = meter.finish(0).values;
            let count = |on: &&str| {
                let labels = [("process", metric::TARGET), ("on", *on)];
                values
                    .get(&metric::series(metric::THREAD_WAITS, &labels))
                    .copied()
            };
            let counts: Vec<Option<f64>> = wanted.iter().map(count).collect();
            for (at, count) in counts.iter().enumerate() {
                // Of many threads not all are sampled in one second.
                found[at] |= count.is_some_and(|count| count >= 1.0);
            }
            found.iter().all(|found| *found).then_some(counts)
        });
        is_over.store(true, Ordering::Relaxed);
        runner.join().unwrap();
        assert!(
            observed.is_some(),
            "{found:?} of {wanted:?}, {:?}",
            files.notes()
        );
        drop((held, other_end));
    }
}
