//! Connections to a process's listen address that are not accepted yet, or have unread bytes: requests that wait
//! for a thread.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::path::Path;

use crate::clock;
use crate::host::diag::{Diag, Which};
use crate::kernel_files;
use crate::parse::socket::{LISTEN, socket_link};

/// Shortest interval between two searches for its listen address, ns. Such a search reads every descriptor.
const SEARCH_PAUSE_NS: u64 = 10_000_000_000;
/// Ports that are examined at most.
const PORTS_MAX: usize = 4;
/// Descriptors that are examined at most.
const FILES_MAX: usize = 65_536;

/// Where a process listens.
#[derive(Debug, Default)]
pub(super) struct ListenBacklog {
    ports: Vec<u16>,
    next_search_ns: u64,
    diag: Option<Diag>,
}

impl ListenBacklog {
    /// How many connections wait; `None` where the listen address of the process is unknown.
    pub(super) fn waiting(&mut self, pid: u32) -> Option<u32> {
        let diag = match &mut self.diag {
            Some(diag) => diag,
            closed => closed.insert(Diag::open().ok()?),
        };
        let now_ns = clock::now_ns();
        if now_ns >= self.next_search_ns {
            self.next_search_ns = now_ns.saturating_add(SEARCH_PAUSE_NS);
            self.ports = ports_of(pid, diag).unwrap_or_default();
        }
        if self.ports.is_empty() {
            return None;
        }
        let mut waiting = 0_u32;
        for &port in &self.ports {
            let asked = diag.tcp_of_port(port, |socket| {
                let more = match (socket.state, socket.inode) {
                    (LISTEN, _) => socket.receive_queue,
                    // Not accepted yet; the listener counts it.
                    (_, 0) => 0,
                    _ => u32::from(socket.receive_queue > 0),
                };
                waiting = waiting.saturating_add(more);
            });
            asked.ok()?;
        }
        Some(waiting)
    }
}

/// Ports on which the process listens.
fn ports_of(pid: u32, diag: &mut Diag) -> io::Result<Vec<u16>> {
    let links = kernel_files::links(Path::new(&format!("/proc/{pid}/fd")))?;
    let inodes = links.take(FILES_MAX).filter_map(|link| socket_link(&link));
    let held: HashSet<u64> = inodes.collect();
    let mut ports = BTreeSet::new();
    diag.tcp(Which::Listening, |socket| {
        if held.contains(&socket.inode) {
            ports.insert(socket.local.port());
        }
    })?;
    Ok(ports.into_iter().take(PORTS_MAX).collect())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn connections_that_nobody_reads_are_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut diag = Diag::open().unwrap();
        // Others of these tests listen as well, in the same process.
        let all = ports_of(std::process::id(), &mut diag).unwrap();
        assert!(all.len() == PORTS_MAX || all.contains(&port), "{all:?}");
        let mut backlog = ListenBacklog {
            ports: vec![port],
            next_search_ns: u64::MAX,
            diag: Some(diag),
        };
        assert_eq!(backlog.waiting(1), Some(0));
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert_eq!(backlog.waiting(1), Some(1));
        let (taken, _) = listener.accept().unwrap();
        assert_eq!(backlog.waiting(1), Some(0));
        client.write_all(b"GET / HTTP/1.1\r\n").unwrap();
        // Wait until the bytes have arrived.
        taken.peek(&mut [0]).unwrap();
        assert_eq!(backlog.waiting(1), Some(1));
    }
}
