//! The socket for datagrams, read by a thread of its own, which never takes more than a small share of a CPU.

use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, park_timeout};
use std::time::Duration;

use plimsoll_model::lock::lock;
use plimsoll_model::metric;
use rustix::net::{Shutdown, sockopt};

use super::totals::StatsdTotals;
use crate::collectors::metrics::MetricsRecorder;
use crate::kernel_files;
use crate::parse::socket::udp_drops;

/// Longest datagram, bytes.
const DATAGRAM_LEN_MAX: usize = 64 << 10;
/// Lines that are read in one second. The kernel drops what arrives beyond them, which costs the load nothing.
const LINES_MAX: usize = 20_000;
/// Size of the kernel's buffer, bytes; it may grant less.
const BUFFER_LEN: usize = 4 << 20;
/// How soon the thread notices that the receiver has been closed.
const GLANCE: Duration = Duration::from_millis(250);
/// Where the kernel lists sockets, and the datagrams that it dropped at each.
const TABLES: [&str; 2] = ["/proc/thread-self/net/udp", "/proc/thread-self/net/udp6"];

/// What the thread shares with the collector.
#[derive(Debug, Default)]
struct StatsdInbox {
    totals: StatsdTotals,
    /// Lines that may still be read in this second.
    lines_left: usize,
}

#[derive(Debug, Default)]
struct ReceiverState {
    is_over: AtomicBool,
    inbox: Mutex<StatsdInbox>,
}

/// Receives until it is dropped.
#[derive(Debug)]
pub(super) struct StatsdReceiver {
    socket: Arc<UdpSocket>,
    state: Arc<ReceiverState>,
    thread: JoinHandle<()>,
    /// Datagrams that were dropped at the last sample.
    dropped: Option<u64>,
}

impl StatsdReceiver {
    /// Begins to receive.
    pub(super) fn open(host: &str, port: u16) -> io::Result<Self> {
        let addresses = plimsoll_names::host::resolve(host, port)?;
        let socket = Arc::new(UdpSocket::bind(&*addresses)?);
        socket.set_read_timeout(Some(GLANCE))?;
        // A smaller buffer holds shorter bursts, and what is lost is reported.
        let _ = sockopt::set_socket_recv_buffer_size(&*socket, BUFFER_LEN);
        let state = Arc::new(ReceiverState::default());
        lock(&state.inbox).lines_left = LINES_MAX;
        let (theirs, shared) = (Arc::clone(&socket), Arc::clone(&state));
        let thread = std::thread::Builder::new()
            .name("statsd".to_owned())
            .spawn(move || receive(&theirs, &shared))?;
        let dropped = dropped(&socket);
        Ok(Self {
            socket,
            state,
            thread,
            dropped,
        })
    }

    /// Records what arrived in the last seconds, and lets the thread read on. Returns whether any meter arrived so far.
    pub(super) fn record(&mut self, seconds: f64, metrics: &mut MetricsRecorder<'_>) -> bool {
        let dropped = dropped(&self.socket);
        let lost = dropped
            .zip(self.dropped)
            .map(|(now, before)| now.saturating_sub(before));
        self.dropped = dropped;
        let per_second = lost.map(|lost| lost as f64 / seconds);
        let per_second = per_second.filter(|rate| rate.is_finite());
        metrics.level(metric::STATSD_DROPPED, &[], per_second);
        if lost.is_some_and(|lost| lost > 0) {
            let text = format!(
                "datagrams were dropped, so counts are too low: at most {LINES_MAX} lines are read in a second; send a share \
                 of the events (`@0.1`), or let the client add them up"
            );
            metrics.note("dropped", &text);
        }
        let mut inbox = lock(&self.state.inbox);
        inbox.totals.record(seconds, metrics);
        inbox.lines_left = LINES_MAX;
        self.thread.thread().unpark();
        inbox.totals.has_meters()
    }
}

impl Drop for StatsdReceiver {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::Relaxed);
        // Wakes a thread that reads, although the kernel calls it an error: the socket has no other side.
        let _ = rustix::net::shutdown(&*self.socket, Shutdown::Both);
        self.thread.thread().unpark();
    }
}

fn receive(socket: &UdpSocket, state: &ReceiverState) {
    let mut datagram = vec![0; DATAGRAM_LEN_MAX];
    while !state.is_over.load(Ordering::Relaxed) {
        if lock(&state.inbox).lines_left == 0 {
            park_timeout(GLANCE);
            continue;
        }
        take_datagram(socket, &mut datagram, state);
    }
}

/// Waits for a datagram, for a glance at most, and adds up its lines.
fn take_datagram(socket: &UdpSocket, datagram: &mut [u8], state: &ReceiverState) {
    // Without its sender: a socket that is shut down has none, for which the standard library panics.
    match socket.recv(datagram) {
        Ok(len) => {
            let mut inbox = lock(&state.inbox);
            let count = inbox.totals.add(&datagram[..len]);
            // A datagram without any line costs its reading.
            inbox.lines_left = inbox.lines_left.saturating_sub(count.max(1));
        }
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
            ) => {}
        // Out of memory, for example: an immediate retry would fail again.
        Err(_) => park_timeout(GLANCE),
    }
}

/// Datagrams that the kernel has dropped at a socket since it was opened; `None` where that cannot be read.
fn dropped(socket: &UdpSocket) -> Option<u64> {
    let inode = rustix::fs::fstat(socket).ok()?.st_ino;
    TABLES.iter().find_map(|path| {
        let table = kernel_files::text(path).ok()?;
        udp_drops(&table, inode)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Observed at the end of a run: the thread panicked in the read that its own end had woken.
    #[test]
    fn a_socket_that_was_shut_down_reads_as_an_empty_datagram() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let _ = rustix::net::shutdown(&socket, Shutdown::Both);
        let state = ReceiverState::default();
        lock(&state.inbox).lines_left = 7;
        take_datagram(&socket, &mut [0; 16], &state);
        assert_eq!(lock(&state.inbox).lines_left, 6);
    }
}
